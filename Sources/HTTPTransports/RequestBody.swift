/// The content of a request.
public enum RequestBody: Sendable {
  /// The whole content, which is sent with its length.
  case bytes([UInt8])

  /// A source of the content, piece by piece, at the pace of the network.
  ///
  /// With a length, in bytes, the content is sent with `Content-Length`. It is an error if the
  /// source returns more or fewer bytes; a source of length 0 is not read. Without a length, the
  /// content is sent chunked (RFC 9112, section 7.1), or over HTTP/2 until the source ends.
  case stream(length: UInt64?, any RequestBodySource)
}

/// A source of the content of one request, piece by piece.
///
/// The next piece is requested when the one before is nearly sent, so memory is bounded by the size
/// of two pieces. The transport releases the source when it has ended, when the transfer has ended,
/// and when the server has answered with an error (a status of 300 or more) and needs no more
/// content.
public protocol RequestBodySource: AnyObject, Sendable {
  /// Returns the next piece, which may be empty, or `nil` at the end of the content.
  ///
  /// Runs in a task of its own, which is cancelled when its result is not needed any more. Throwing
  /// an error ends the transfer with ``TransportError/Code/requestBodyFailed``, so that the server
  /// never takes the bytes sent so far for the whole content.
  func next() async throws -> [UInt8]?
}

/// A source of content that can start again, if a server redirects or asks for credentials.
public protocol RepeatableBodySource: RequestBodySource {
  /// Returns a source with the same content from its beginning.
  func again() -> any RequestBodySource
}
