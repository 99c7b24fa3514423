import Synchronization
import Testing
import TransportTesting

struct EasyHandleRequestTests {
  @Test func `a body waits for the server's consent when the caller asks for it`() async throws {
    let source = ScriptedSource.of([Array("abc".utf8)])
    let asked = Mutex<Int?>(nil)
    let origin = try LoopbackOrigin { request, connection in
      asked.withLock { $0 = source.asked }
      connection.send("HTTP/1.1 100 Continue\r\n\r\n")
      if let body = connection.readChunked() { connection.answer(body) }
    }
    let (_, answer) = try await origin.send(
      .stream(length: nil, source), fields: [HTTPField("Expect", "100-continue")])
    #expect(answer == Array("abc".utf8))
    #expect(asked.withLock { $0 } == 0)
    #expect(
      origin.requests.first?.lines.filter { $0.hasPrefix("Expect") } == ["Expect: 100-continue"])
  }

  @Test func `a refused expectation is an answer like any other, and is not sent again`()
    async throws
  {
    let source = ScriptedSource.of([Array("abc".utf8)])
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("no", status: "417 Expectation Failed")
      connection.waitForClose()
    }
    let (response, answer) = try await origin.send(
      .stream(length: nil, source), fields: [HTTPField("Expect", "100-continue")])
    #expect(response.head.status == 417)
    #expect(answer == Array("no".utf8))
    #expect(source.asked == 0)
    #expect(origin.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(5)))
  func `a server that knows no expectations gets the body after a while`() async throws {
    let origin = try LoopbackOrigin.echo()
    let (_, answer) = try await origin.send(
      .bytes(Array("abc".utf8)), fields: [HTTPField("Expect", "100-continue")])
    #expect(answer == Array("abc".utf8))
  }
}
