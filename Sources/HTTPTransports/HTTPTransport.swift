public import HTTPSemantics

/// Sends HTTP requests, and receives the responses: the head, then the body at the reader's pace,
/// then the trailers.
///
/// A transport does not cache. It returns every response as it was received: it removes no content
/// coding, follows no redirect, and repeats a request only if the server has closed an idle
/// connection. Many tasks may use it at the same time.
public protocol HTTPTransport: Sendable {
  /// Whether servers know by the transport who asks, for example by cookies or a client certificate.
  /// The rules of HTTP do not see that, so its responses are not shared between machines. A transport that
  /// uses another one has to say what that one says.
  var isForOneUser: Bool { get }

  /// Whether a proxy may be used. It may be in the local network, so servers are asked also if there is no
  /// way out of that. A transport that uses another one has to say what that one says.
  var mayUseProxy: Bool { get }

  /// Sends a request, and waits for the head of the final response.
  ///
  /// `Content-Length` and `Transfer-Encoding` of the request are replaced by the values that are
  /// really sent. Every status is a success: an error means that no whole head was received.
  /// Cancelling the task ends the transfer at once, with its upload.
  ///
  /// - Parameters:
  /// - request: The request.
  ///   - body: The content; `nil` for none. A response may arrive before all of it is sent.
  ///   - options: How the request is sent.
  ///   - onInterim: Called for each interim response (1xx), in order, before this returns; must not
  ///     block.
  /// - Throws: ``TransportError``; ``TransportError/Code/cancelled`` if the task is cancelled.
  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse

  /// Ends all transfers with ``TransportError/Code/cancelled``, and forgets all cookies, because the
  /// user logs out. A transport that uses another one has to reset that one.
  func reset() async
}

extension HTTPTransport {
  /// Does nothing.
  public func reset() async {}

  /// False.
  public var isForOneUser: Bool { false }

  /// False.
  public var mayUseProxy: Bool { false }

  /// Sends a request without a body and skips interim answers; see
  /// ``send(_:body:options:onInterim:)``.
  public func send(
    _ request: HTTPRequest, options: TransportOptions = TransportOptions()
  ) async throws(TransportError) -> TransportResponse {
    try await send(request, body: nil, options: options) { _ in }
  }
}

/// A response: its head, the URL, and its body.
public struct TransportResponse: Sendable {
  /// Status and fields as the server sent them, in their order.
  public let head: HTTPResponseHead

  /// The URL that answered: that of the request.
  public let url: NormalizedURL

  /// The version of HTTP, such as `1.1` or `2`.
  public let version: String

  /// The body, with the content coding that the head states. Releasing it ends the transfer.
  public let body: any TransportBody

  /// The `Authorization` that was sent last, with the name of the credential in its place; `nil` for
  /// none. Only a transport that logs in sets it.
  package var user: String?

  /// Creates a response.
  public init(
    head: HTTPResponseHead, url: NormalizedURL, version: String = "1.1", body: any TransportBody
  ) {
    self.head = head
    self.url = url
    self.version = version
    self.body = body
  }
}

/// The body of one response, piece by piece, for one reader.
///
/// While the reader does not call ``next()``, the transfer is paused, so memory is bounded. If the
/// last reference is released before the end, the transfer is cancelled.
public protocol TransportBody: AnyObject, Sendable {
  /// Returns the next piece, never an empty one, or `nil` at the end of a complete body.
  ///
  /// Only one call at a time is allowed; a second one traps. After `nil` or an error, every call
  /// has the same result.
  ///
  /// - Throws: ``TransportError``, also if the body was truncated. The bytes read before are then
  ///   no complete body.
  func next() async throws(TransportError) -> [UInt8]?

  /// The trailer fields; empty before ``next()`` has returned `nil`.
  var trailers: HTTPFields { get }

  /// Ends the transfer now: a waiting call of ``next()`` throws ``TransportError/Code/cancelled``.
  /// Does nothing after the end.
  func cancel()
}
