public import HTTPSemantics
public import HTTPTransports

/// Fetches with libcurl: one thread runs all transfers of a transport, over shared connections.
///
/// Connections are kept and reused; HTTP/2 is used over TLS where libcurl has it. Only `http` and
/// `https` are spoken. A transport lives as long as it, one of its calls or one of its bodies is in
/// use; then its connections are closed and its thread ends.
///
/// An answer whose end is not certain is an error: two lengths, a length and a transfer coding, a
/// transfer coding but `chunked`, a size of a chunk that is no number, a line with a CR or NUL. All
/// heads and trailers of an answer may have 256 KiB and 1,000 fields together; libcurl 7.88 bounds
/// one line of a head at 100 KiB, and one trailer of HTTP/1 at 4 KiB.
public final class CurlTransport: HTTPTransport {
  /// Gives the set-up that the transport was made with.
  public let setup: CurlSetup

  let loop: TransferLoop

  /// Starts a transport with its thread.
  ///
  /// - Throws: `TransportError.Code.failed` if libcurl or the system cannot;
  ///   `TransportError.Code.invalidSetup` where a pin is for what is no host: it would never be asked.
  public init(_ setup: CurlSetup = CurlSetup()) throws(TransportError) {
    if let name = setup.pins.keys.first(where: { !CurlSetup.isHost($0) }) {
      throw TransportError(
        .invalidSetup, url: "https:", detail: "a pin is for '\(name)', which is no host")
    }
    self.setup = setup
    loop = try TransferLoop(setup)
  }

  deinit {
    loop.shutDown()
  }

  /// Sends a request and waits for the head of the final answer.
  ///
  /// An answer of 300 or more ends an upload; any other lets it go on to its end, and the answer's
  /// end may come only then. A request that is lost on a kept connection is sent again if its
  /// method is idempotent and its body can be had again.
  ///
  /// - Throws: `TransportError`.
  public func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    // What is cancelled asks nobody, also where the answer would be there before the wait for it.
    if Task.isCancelled { throw TransportError(.cancelled, url: request.url.string) }
    let answer = try start(request, body, options, onInterim)
    let head = try await answer.transfer.head().get()
    return TransportResponse(
      head: head.head, url: request.url, version: head.version, body: answer)
  }

  /// Hands a request to the loop; the body that comes back ends the transfer when it goes away.
  func start(
    _ request: HTTPRequest, _ body: RequestBody? = nil, _ options: TransportOptions,
    _ onInterim: @escaping @Sendable (HTTPResponseHead) -> Void = { _ in }
  ) throws(TransportError) -> CurlBody {
    if let fault = RequestCheck.fault(in: request, body) {
      throw TransportError(.invalidRequest, url: request.url.string, detail: fault)
    }
    let upload = body.map {
      Upload(
        $0, awaitsContinue: RequestCheck.expectsContinue(request),
        continueTimeout: setup.continueTimeout)
    }
    let transfer = Transfer(
      request, upload, options: options, load: loop.load, onInterim: onInterim
    ) { [loop] in
      loop.submit($0, $1.command)
    }
    loop.submit(transfer, .start)
    return CurlBody(transfer, transport: self)
  }
}

extension Transfer.Request {
  fileprivate var command: TransferLoop.Command {
    switch self {
    case .resumeReceiving: .resumeReceiving
    case .resumeSending: .resumeSending
    case .remove: .remove
    }
  }
}

/// Gives the body of one transfer to its reader, and ends the transfer when the reader lets go.
final class CurlBody: TransportBody {
  let transfer: Transfer
  /// Keeps the loop going while somebody reads.
  private let transport: CurlTransport

  init(_ transfer: Transfer, transport: CurlTransport) {
    self.transfer = transfer
    self.transport = transport
  }

  deinit {
    transfer.cancel()
  }

  var trailers: HTTPFields { transfer.trailers }

  func next() async throws(TransportError) -> [UInt8]? {
    try await transfer.next().get()
  }

  func cancel() {
    transfer.cancel()
  }
}
