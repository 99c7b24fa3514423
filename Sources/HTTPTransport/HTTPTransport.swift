public import HTTPSemantics

/// Fetches over HTTP: request in; head, then body pieces at the reader's pace, then trailers out.
///
/// A transport knows nothing of caching. Implementations are safe to use from many tasks at once.
public protocol HTTPTransport: Sendable {
  /// Sends a request and waits for the head of the final answer.
  ///
  /// Interim answers (1xx) are skipped. Any status is a good answer: only what keeps a whole head
  /// from coming is an error. Cancelling the task ends the transfer at once.
  ///
  /// - Throws: ``TransportError``; ``TransportError/Code/cancelled`` when the task is cancelled.
  func send(
    _ request: HTTPRequest, options: TransportOptions
  ) async throws(TransportError) -> TransportResponse
}

/// Holds the head of an answer, where it came from, and the way to its body.
public struct TransportResponse: Sendable {
  /// Gives status and fields as the server sent them, `Content-Encoding` and `Content-Length` of
  /// a decoded body included.
  public let head: HTTPResponseHead

  /// Gives the URL that answered: the last one of the redirects.
  public let url: NormalizedURL

  /// Gives the version of HTTP, such as `1.1` or `2`.
  public let version: String

  /// Tells whether a content coding is being taken off the body, so that `Content-Encoding` and
  /// `Content-Length` do not describe the bytes that the reader gets.
  public let isDecoded: Bool

  /// Gives the body; to let go of it ends the transfer.
  public let body: any TransportBody

  /// Makes an answer.
  public init(
    head: HTTPResponseHead, url: NormalizedURL, version: String = "1.1", isDecoded: Bool = false,
    body: any TransportBody
  ) {
    self.head = head
    self.url = url
    self.version = version
    self.isDecoded = isDecoded
    self.body = body
  }
}

/// Gives the body of one answer, piece by piece, to one reader.
///
/// The reader pulls: while it does not ask, the transfer is paused and memory is bounded. When the
/// last reference goes away before the end, the transfer is cancelled.
public protocol TransportBody: AnyObject, Sendable {
  /// Returns the next piece, never an empty one, or nil at the end of a complete body.
  ///
  /// One call at a time: to call it while another call waits is a programmer's error and traps.
  /// Once it has returned nil or thrown, it does the same for ever.
  ///
  /// - Throws: ``TransportError``, also when the body was cut short. What was read before is then
  ///   no complete body.
  func next() async throws(TransportError) -> [UInt8]?

  /// Gives the trailer fields; empty before ``next()`` has returned nil.
  var trailers: HTTPFields { get }

  /// Ends the transfer now; a call of ``next()`` that waits throws
  /// ``TransportError/Code/cancelled``. After the end it does nothing.
  func cancel()
}
