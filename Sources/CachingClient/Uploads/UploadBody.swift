public import HTTPTransport

/// Tells how much of the content of a request has been given to the network.
public struct UploadProgress: Sendable, Hashable {
  /// Counts the bytes so far. It begins again at 0 where the content has to go twice: to a server that
  /// wants credentials, or one that redirects.
  public let sent: UInt64
  /// Counts the bytes in all.
  public let total: UInt64

  /// Makes a state.
  public init(sent: UInt64, total: UInt64) {
    self.sent = sent
    self.total = total
  }
}

/// Holds the content of a request that is made of bytes and files, of known length, with memory for a
/// few hundred kilobytes however long it is.
///
/// The files are read while they are sent. One that is changed meanwhile ends the request with
/// `requestBodyFailed`, and the server does not get the whole.
public struct UploadBody: Sendable {
  /// One after the other they are the content.
  enum Segment: Sendable {
    case bytes([UInt8])
    case file(UploadFile)

    var length: UInt64 {
      switch self {
      case .bytes(let bytes): UInt64(bytes.count)
      case .file(let file): file.length
      }
    }
  }

  let segments: [Segment]

  /// Counts the bytes.
  public let length: UInt64

  /// Gives the media type of a form, for `Content-Type`; nil: the caller knows it.
  public let contentType: String?

  /// Makes the content of a file.
  ///
  /// - Throws: ``UploadError`` where it is missing, cannot be read, or is no file.
  public init(file path: String) throws(UploadError) {
    self.init([.file(try UploadFile(path))], contentType: nil)
  }

  init(_ segments: [Segment], contentType: String?) {
    self.segments = segments
    self.contentType = contentType
    length = segments.reduce(0) { $0 + $1.length }
  }

  /// Makes the body of a request, which can be sent again where that is needed.
  ///
  /// - Parameter onProgress: Is told after each piece; must not block.
  public func requestBody(
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil
  ) -> RequestBody {
    .stream(length: length, UploadSource(self, onProgress))
  }
}
