public import HTTPSemantics

/// Fetches over HTTP: request in; head, then body pieces at the reader's pace, then trailers out.
///
/// A transport knows nothing of caching. It hands over every answer as it came: it takes no content
/// coding off, follows no redirect and repeats no request on its own accord, but for one that a
/// server closed an idle connection on. Implementations are safe to use from many tasks at once.
public protocol HTTPTransport: Sendable {
  /// Sends a request and waits for the head of the final answer.
  ///
  /// `Content-Length` and `Transfer-Encoding` of the request are replaced by what is really sent.
  /// Any status is a good answer: only what keeps a whole head from coming is an error. Cancelling
  /// the task ends the transfer at once, its upload included.
  ///
  /// - Parameters:
  ///   - request: Says what is asked for.
  ///   - body: Gives the content; nil: none. An answer may come before all of it is sent.
  ///   - options: Says how.
  ///   - onInterim: Gets each interim answer (1xx), in order, before this returns; must not block.
  /// - Throws: ``TransportError``; ``TransportError/Code/cancelled`` when the task is cancelled.
  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse
}

extension HTTPTransport {
  /// Sends a request without a body and skips interim answers; see
  /// ``send(_:body:options:onInterim:)``.
  public func send(
    _ request: HTTPRequest, options: TransportOptions = TransportOptions()
  ) async throws(TransportError) -> TransportResponse {
    try await send(request, body: nil, options: options) { _ in }
  }
}

/// Holds the head of an answer, where it came from, and the way to its body.
public struct TransportResponse: Sendable {
  /// Gives status and fields as the server sent them, in the order of the wire.
  public let head: HTTPResponseHead

  /// Gives the URL that answered: that of the request.
  public let url: NormalizedURL

  /// Gives the version of HTTP, such as `1.1` or `2`.
  public let version: String

  /// Gives the body, with the content coding that the head states; to let go of it ends the
  /// transfer.
  public let body: any TransportBody

  /// Makes an answer.
  public init(
    head: HTTPResponseHead, url: NormalizedURL, version: String = "1.1", body: any TransportBody
  ) {
    self.head = head
    self.url = url
    self.version = version
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
