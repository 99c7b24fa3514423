import Testing

@testable import CachingProxy

@Suite("The watch over heads", .timeLimit(.minutes(5))) struct HeadWatchTests {
  @Test(
    arguments: ["", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["GE", "GET / HTTP/1.1\r\nHost: x\r\nA: "])
  func `ends a connection on which the head of a request never ends`(before: String, head: String)
    async throws
  {
    let backend = ScriptedBackend(answering: { _, _, _ in .text("ok") })
    try await withServer(backend, idleSeconds: 1) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        if !before.isEmpty {
          client.send(before)
          #expect(client.readAnswer().body == "ok")
        }
        client.send(head)
        client.dribble(UInt8(ascii: "a"))
        #expect(client.read().end != .open)
      }
    }
  }
}
