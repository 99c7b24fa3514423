import HTTPSemantics
import HTTPTransports
import TestSupport
import Testing

@testable import CurlHTTP

/// A server that has sent all of its answer.
private final class ScriptedEnd: TunnelEnd, @unchecked Sendable {
  // Unchecked: one thread uses it.
  let descriptor: Int32 = -1
  var sent: [UInt8] = []
  private var answer: ArraySlice<UInt8>
  private let piece: Int

  init(_ answer: String, piece: Int) {
    self.answer = Array(answer.utf8)[...]
    self.piece = piece
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> TunnelTransfer {
    let next = answer.prefix(min(piece, buffer.count))
    if next.isEmpty { return .end }
    // Safety: the piece is not longer than the buffer.
    unsafe buffer.copyBytes(from: next)
    answer = answer.dropFirst(next.count)
    return .bytes(next.count)
  }

  func write(_ buffer: UnsafeRawBufferPointer) -> TunnelTransfer {
    // Safety: one byte of the caller's buffer is copied.
    unsafe sent.append(buffer[0])
    return .bytes(1)
  }

  func finishWriting() -> TunnelTransfer { .end }
  func close(isBroken: Bool) {}
}

@Suite("The head of an upgrade") struct UpgradeExchangeTests {
  private func request() throws -> HTTPRequest {
    HTTPRequest(
      method: .get, url: try NormalizedURL("http://a.test:81/b?c"),
      fields: [HTTPField("Upgrade", "websocket"), HTTPField("X", "y")])
  }

  private func answer(_ text: String, piece: Int) throws -> UpgradeAnswer {
    try UpgradeExchange(try request(), ScriptedEnd(text, piece: piece), .now + .seconds(60))
      .answer()
  }

  @Test func `is written with the fields of the request`() throws {
    let end = ScriptedEnd("HTTP/1.1 101 x\r\n\r\n", piece: 9)
    _ = try UpgradeExchange(try request(), end, .now + .seconds(60)).answer()
    #expect(
      String(decoding: end.sent, as: UTF8.self)
        == "GET /b?c HTTP/1.1\r\nHost: a.test:81\r\nUpgrade: websocket\r\nX: y\r\n"
        + "Connection: Upgrade\r\n\r\n")
  }

  @Test(arguments: [1, 7, 1000])
  func `a 101 ends it, and leaves what follows to the tunnel`(piece: Int) throws {
    let text = "HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n"
    guard case .switched(let head, _, let first) = try answer(text + "bytes", piece: piece) else {
      Issue.record("not switched")
      return
    }
    #expect(head.status == 101)
    #expect(head.fields.first(named: "Upgrade")?.text == "websocket")
    #expect("bytes".utf8.starts(with: first))
  }

  @Test func `an answer with content is not read`() throws {
    for text in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 206 OK\r\nContent-Length: 1\r\n\r\n"] {
      guard case .ignored = try answer(text, piece: 1000) else {
        Issue.record("\(text)")
        continue
      }
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 426 No\r\nContent-Length: 4\r\n\r\nnope more", "nope"),
    ("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnope\r\n0\r\n\r\n", "nope"),
    ("HTTP/1.0 403 No\r\n\r\nnope", "nope"), ("HTTP/1.1 304 No\r\n\r\n", ""),
  ])
  func `another answer is read to its end`(text: String, body: String) throws {
    for piece in [1, 1000] {
      guard case .answered(_, let bytes) = try answer(text, piece: piece) else {
        Issue.record("switched")
        return
      }
      #expect(String(decoding: bytes, as: UTF8.self) == body)
    }
  }

  @Test(arguments: [
    ("", TransportError.Code.connectionLost), ("HTTP/1.1 101 Go\r\n", .connectionLost),
    ("SSH-2.0-x\r\n", .protocolViolation),
    ("HTTP/1.1 101 Go\r\nA: b\rc\r\n\r\n", .protocolViolation),
    ("HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nno", .truncatedBody),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nno", .protocolViolation),
    ("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", .protocolViolation),
    ("HTTP/1.1 403 No\r\n\r\n" + String(repeating: "a", count: 66_560), .failed),
    (String(repeating: "a", count: 1 << 20), .headTooLarge),
  ])
  func `an answer that is cut, wrong or too long is an error`(
    text: String, code: TransportError.Code
  ) throws {
    #expect(throws: TransportError(code, url: "http://a.test:81/b?c")) {
      _ = try answer(text, piece: 1000)
    }
  }

  @Test func `a server that sends on and on is not read for ever`() throws {
    let end = ScriptedEnd("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n", piece: 1)
    #expect(throws: TransportError(.timeout, url: "http://a.test:81/b?c")) {
      _ = try UpgradeExchange(try request(), end, .now).answer()
    }
  }
}
