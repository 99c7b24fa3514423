public import HTTPSemantics
public import HTTPTransport

/// Fetches with libcurl: one thread drives all transfers of a transport, over shared connections.
///
/// Connections are kept and reused; HTTP/2 is used over TLS where libcurl has it. Only `http` and
/// `https` are spoken, also after a redirect. A transport lives as long as it, one of its calls or
/// one of its bodies is in use; then its connections are closed and its thread ends.
public final class CurlTransport: HTTPTransport {
  /// Gives the set-up that the transport was made with.
  public let setup: CurlSetup

  private let loop: TransferLoop

  /// Starts a transport with its thread.
  ///
  /// - Throws: ``TransportError/Code/failed`` if libcurl or the system cannot.
  public init(_ setup: CurlSetup = CurlSetup()) throws(TransportError) {
    self.setup = setup
    loop = try TransferLoop(setup)
  }

  deinit {
    loop.shutDown()
  }

  /// Sends a request and waits for the head of the final answer.
  ///
  /// - Throws: ``TransportError``.
  public func send(
    _ request: HTTPRequest, options: TransportOptions = TransportOptions()
  ) async throws(TransportError) -> TransportResponse {
    let body = try start(request, options)
    let head = try await body.transfer.head().get()
    return TransportResponse(
      head: head.head, url: head.url, version: head.version, isDecoded: head.isDecoded, body: body)
  }

  /// Hands a request to the loop; the body that comes back ends the transfer when it goes away.
  func start(
    _ request: HTTPRequest, _ options: TransportOptions
  ) throws(TransportError) -> CurlBody {
    guard HTTPField.isToken(request.method.rawValue), request.fields.allSatisfy(\.isValid) else {
      throw TransportError(.invalidRequest, url: request.url.string)
    }
    let capacity = max(setup.bufferBytes, setup.readBytes)
    let transfer = Transfer(request, options: options, capacity: capacity) { [loop] in
      loop.submit($0, $1 == .resume ? .resume : .remove)
    }
    loop.submit(transfer, .start)
    return CurlBody(transfer, transport: self)
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
