import HTTPSemantics
import HTTPTransports
import Synchronization

/// Takes requests to a scripted origin without any connection.
struct OriginTransport: HTTPTransport {
  let origin: ScriptedOrigin

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    guard let answer = origin.answer(request) else {
      throw TransportError(.connectionLost, url: request.url.string)
    }
    for head in answer.interim { onInterim(head) }
    return TransportResponse(
      head: answer.head, url: request.url, body: OneBody(Array(answer.body.utf8)))
  }
}

/// Gives a body in one piece.
final class OneBody: TransportBody {
  private let bytes: Mutex<[UInt8]>

  init(_ bytes: [UInt8]) {
    self.bytes = Mutex(bytes)
  }

  var trailers: HTTPFields { [] }

  func next() async throws(TransportError) -> [UInt8]? {
    let piece = bytes.withLock { bytes in
      defer { bytes = [] }
      return bytes
    }
    return piece.isEmpty ? nil : piece
  }

  func cancel() {}
}
