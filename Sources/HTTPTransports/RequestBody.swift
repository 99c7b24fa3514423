/// Holds or gives the content of a request.
public enum RequestBody: Sendable {
  /// Holds the whole content, which is sent with its length.
  case bytes([UInt8])

  /// Gives the content piece by piece, at the pace of the network.
  ///
  /// With a length, in bytes, the content is sent with `Content-Length`, and it is an error when
  /// the source gives more or less; a source of length 0 is not asked at all. Without one it is
  /// sent chunked (RFC 9112, section 7.1) or, over HTTP/2, as long as it goes on.
  case stream(length: UInt64?, any RequestBodySource)
}

/// Gives the content of one request, piece by piece.
///
/// One piece is asked for at a time, and not before the one before it is nearly sent, so memory is
/// bounded by the size of two pieces. The transport lets go of the source when it has ended, when
/// the transfer has ended, and when the server has answered with an error (a status of 300 or
/// more) and wants no more of it.
public protocol RequestBodySource: AnyObject, Sendable {
  /// Returns the next piece, which may be empty, or nil at the end of the content.
  ///
  /// Runs in a task of its own, which is cancelled when nobody waits for its result any more. To
  /// throw aborts the transfer with ``TransportError/Code/requestBodyFailed``: the server never
  /// takes what it got for the whole.
  func next() async throws -> [UInt8]?
}

/// Gives the content of a request, and the same content once more where a server wants credentials or
/// redirects.
public protocol RepeatableBodySource: RequestBodySource {
  /// Returns a source that gives the same content from its beginning.
  func again() -> any RequestBodySource
}
