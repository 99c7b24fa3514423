public import HTTPTransports

/// How much of the content of a request has been passed to the network.
public struct UploadProgress: Sendable, Hashable {
  /// The number of bytes so far. It begins again at 0 if the content has to be sent twice: after a
  /// redirect, or to a server that asks for credentials.
  public let sent: UInt64
  /// The number of bytes in total.
  public let total: UInt64

  package init(sent: UInt64, total: UInt64) {
    self.sent = sent
    self.total = total
  }
}

/// The content of a request, made of bytes and files. Its length is known; it takes a few hundred
/// kilobytes of memory, however long it is.
///
/// The files are read while they are sent. If one is changed meanwhile, the request fails with
/// `requestBodyFailed`, and the server does not receive all of it.
public struct UploadBody: Sendable {
  /// A part of the content.
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

  /// The number of bytes.
  public let length: UInt64

  /// The media type of a form, for `Content-Type`; `nil` if the caller sets it.
  public let contentType: String?

  /// Creates the content of a file.
  ///
  /// - Throws: ``UploadError`` if the file is missing, cannot be read, or is not a regular file.
  public init(file path: String) throws(UploadError) {
    self.init([.file(try UploadFile(path))], contentType: nil)
  }

  init(_ segments: [Segment], contentType: String?) {
    self.segments = segments
    self.contentType = contentType
    length = segments.reduce(0) { $0 + $1.length }
  }

  /// Returns the body of a request, which can be sent again after a redirect or a 401.
  ///
  /// - Parameter onProgress: Called after each piece; must not block.
  public func requestBody(
    onProgress: (@Sendable (UploadProgress) -> Void)? = nil
  ) -> RequestBody {
    .stream(length: length, UploadSource(self, onProgress))
  }
}
