import Synchronization

/// Fails each request once a gate is open.
package final class FailingTransport: HTTPTransport {
  package let gate = Gate()
  private let code: TransportError.Code
  private let count = Mutex(0)

  package init(_ code: TransportError.Code) {
    self.code = code
  }

  package var requests: Int { count.withLock { $0 } }

  package func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    count.withLock { $0 += 1 }
    let isOpen = await gate.pass()
    throw TransportError(isOpen ? code : .cancelled, url: request.url.string)
  }
}
