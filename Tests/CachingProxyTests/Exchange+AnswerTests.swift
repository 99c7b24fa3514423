import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite("An exchange", .timeLimit(.minutes(5))) struct ExchangeAnswerTests {
  @Test(arguments: [(20_000, 200), (50_000, 502)])
  func `says so where the head of its answer is too large`(count: Int, status: Int) async throws {
    let large = HTTPField("A", String(repeating: "x", count: count))
    let backend = ScriptedBackend(
      stored: { request in
        request.url.target == "/stored" ? .text("ok", fields: [large]) : nil
      },
      answering: { _, _, _ in .stream(Pieces(["ok"]), fields: [large]) })
    try await withServer(backend) { port, _ in
      for target in ["/stored", "/other"] {
        let request = "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n"
        let reading = try await exchange(port, request)
        #expect(reading.status == status)
      }
    }
  }

  @Test(arguments: [true, false])
  func `ends when its client leaves before the answer`(isReset: Bool) async throws {
    let (begins, beginning) = AsyncStream.makeStream(of: Void.self)
    let backend = ScriptedBackend(answering: { _, _, _ in
      beginning.yield()
      // Ends only when the task is cancelled.
      for await _ in AsyncStream<Void>.makeStream().stream {}
      return .text("ok")
    })
    let recorder = Recorder()
    try await withServer(backend, observers: [recorder]) { port, _ in
      var client: RawClient? = try RawClient(port: port)
      client?.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      for await _ in begins { break }
      if isReset { client?.breakConnection() }
      client = nil
      let record = try await recorder.records(count: 1)[0]
      #expect(record.status == 0 && !record.isComplete)
    }
  }

  @Test func `never makes a body look whole that ends with the connection`() async throws {
    let piece = String(repeating: "x", count: 1 << 20)
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(Pieces([String](repeating: piece, count: 64)))
    })
    let recorder = Recorder()
    // A client that reads nothing for too long is left.
    try await withServer(backend, observers: [recorder], idleSeconds: 1) { port, _ in
      let client = try RawClient(port: port)
      client.send("GET / HTTP/1.0\r\nHost: x\r\n\r\n")
      #expect(try await !recorder.records(count: 1)[0].isComplete)
      let end = try await onThread { client.read().end }
      #expect(end == .reset)
    }
  }

  @Test func `waits for the answer if its client has only finished sending`() async throws {
    let (goes, going) = AsyncStream.makeStream(of: Void.self)
    let backend = ScriptedBackend(answering: { _, _, _ in
      for await _ in goes { break }
      return .text("answer")
    })
    let (probe, answer) = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        client.finishSending()
        let probe = client.read(until: "\r\n\r\n").text
        going.yield()
        return (probe, client.read())
      }
    }
    #expect(probe == "HTTP/1.1 100 Continue\r\n\r\n")
    #expect(answer.status == 200 && answer.body == "answer")
  }
}

@Suite("Interim answers") struct InterimAnswersTests {
  private let hinting = ScriptedBackend(answering: { _, _, onInterim in
    onInterim(HTTPResponseHead(status: 103, fields: [HTTPField("Link", "</a>")]))
    onInterim(HTTPResponseHead(status: 100))
    onInterim(HTTPResponseHead(status: 103, fields: [HTTPField("Link", "</b>")]))
    return .text("ok")
  })

  @Test func `go before the answer`() async throws {
    let text = try await withServer(hinting) { port, _ in
      try await exchange(
        port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", untilClosed: true
      ).text
    }
    let hints =
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nVia: 1.1 test\r\n\r\n"
      + "HTTP/1.1 103 Early Hints\r\nLink: </b>\r\nVia: 1.1 test\r\n\r\nHTTP/1.1 200 OK\r\n"
    #expect(text.hasPrefix(hints))
    #expect(text.hasSuffix("\r\n\r\nok"))
  }

  @Test func `do not go to clients of HTTP/1.0`() async throws {
    let text = try await withServer(hinting) { port, _ in
      try await exchange(port, "GET / HTTP/1.0\r\n\r\n", untilClosed: true).text
    }
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
  }
}
