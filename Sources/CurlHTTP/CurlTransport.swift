import CacheSystem
public import HTTPSemantics
public import HTTPTransports

/// Sends requests with libcurl. One thread runs all transfers of a transport, over shared
/// connections.
///
/// Connections are kept and reused. HTTP/2 is used over TLS if libcurl supports it. Only `http` and
/// `https` are supported. A transport lives as long as it, one of its calls or one of its bodies is
/// in use. Then its connections are closed and its thread ends.
///
/// After a timeout over HTTP/2, connections to that server on which nothing comes get no further
/// transfers, and are closed.
///
/// A response whose end is not certain is an error: two lengths, a length and a transfer coding, a
/// transfer coding other than `chunked`, a chunk size that is not a number, a line with a CR or
/// NUL, and over TLS a body without length if the server ends the connection without closing TLS
/// (RFC 9112, section 9.8). Over HTTP/2 there is one exception: if a server resets the stream of a body without length
/// with `NO_ERROR`, libcurl 7.88 takes the body for complete, which it may not be.
///
/// All heads and trailers of a response may have 256 KiB and 1,000 fields together. libcurl 7.88
/// limits one line of a head to 100 KiB, and one trailer of HTTP/1 to 4 KiB.
public final class CurlTransport: HTTPTransport {
  /// The set-up that the transport was created with.
  public let setup: NetworkSetup

  /// Whether the set-up has cookies or a client certificate.
  public var isForOneUser: Bool { setup.isForOneUser }

  /// Whether the set-up has a proxy.
  public var mayUseProxy: Bool { setup.mayUseProxy }

  let loop: TransferLoop

  /// The threads that make connections for tunnels.
  let connecting = WorkerPool(threads: CurlTransport.connectThreads)

  /// Creates a transport and its thread.
  ///
  /// - Throws: `TransportError.Code.failed` if libcurl or the system cannot do that;
  ///   `TransportError.Code.invalidSetup` if a pin is for an invalid host name, because it would
  ///   never be checked, or the proxy's URL has an unknown scheme.
  public init(_ setup: NetworkSetup = NetworkSetup()) throws(TransportError) {
    if let fault = setup.fault { throw fault }
    self.setup = setup
    loop = try TransferLoop(setup)
  }

  deinit {
    loop.shutDown()
  }

  /// Sends a request and waits for the head of the final response.
  ///
  /// A response with a status of 300 or more ends an upload. With any other status the upload
  /// continues to its end, and the end of the response may come only then. A request that is lost
  /// on a kept connection is sent again if its method is idempotent, and its body is in memory or has a
  /// length of at most 64 KiB.
  ///
  /// - Throws: `TransportError`.
  public func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    // A cancelled task sends nothing, even if the response would be there before the wait for it.
    if Task.isCancelled { throw TransportError(.cancelled, url: request.url.string) }
    return try await start(request, body, options, onInterim).response()
  }

  /// Ends all transfers with `cancelled`, and forgets all cookies.
  public func reset() async { await loop.reset() }

  /// Passes a request to the loop. Releasing the returned body ends the transfer.
  func start(
    _ request: HTTPRequest, _ body: RequestBody? = nil, _ options: TransportOptions,
    _ onInterim: @escaping @Sendable (HTTPResponseHead) -> Void = { _ in }
  ) throws(TransportError) -> TransferBody {
    if let fault = RequestCheck.fault(in: request, body) {
      throw TransportError(.invalidRequest, url: request.url.string, detail: fault)
    }
    let upload = body.map {
      Upload(
        $0, awaitsContinue: RequestCheck.expectsContinue(request.fields),
        mayRepeat: request.method.isIdempotent)
    }
    let transfer = Transfer(
      request, upload, options: options, capacity: { [load = loop.load] in load.capacity },
      onInterim: onInterim
    ) { [loop] in
      loop.submit($0, .carryOut($1))
    }
    loop.submit(transfer, .start)
    return TransferBody(transfer, of: self)
  }
}
