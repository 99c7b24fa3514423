import CacheFormat
import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A request for another protocol", .timeLimit(.minutes(3))) struct ExchangeUpgradeTests {
  private func request(_ port: UInt16, _ name: String = "websocket", more: String = "") -> String {
    "GET /a HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: keep-alive, Upgrade\r\n"
      + "Upgrade: \(name)\r\n\(more)\r\n"
  }

  private func withOrigin<Result: Sendable>(
    _ observers: [any ProxyObserver] = [], _ change: (inout ProxyOptions) -> Void = { _ in },
    _ body: (UInt16, ProxyServer) async throws -> Result
  ) async throws -> Result {
    let echo = try TalkingServer.echo()
    return try await withTunnels(
      to: echo.port, observers: observers,
      { options in
        options.origin = try? NormalizedURL("http://origin.test")
        change(&options)
      }, body)
  }

  @Test func `becomes a tunnel after a 101, and is recorded at its end`() async throws {
    let recorder = Recorder()
    try await withOrigin([recorder]) { port, server in
      try await onThread { [text = request(port)] in
        let client = try RawClient(port: port)
        client.send(text + "early")
        let head = client.read(until: "\r\n\r\n")
        #expect(head.status == 101)
        #expect(head.field("Upgrade") == "websocket")
        #expect(head.field("Connection") == "Upgrade")
        #expect(head.field("X") == "y")
        #expect(head.field("Via") == "1.1 test")
        #expect(client.read(count: 11).text == "first early")
        client.send("late")
        #expect(client.read(count: 4).text == "late")
        #expect(server.activeCount == 0)
        client.finishSending()
        #expect(client.read() == RawClient.Reading(bytes: [], end: .closed))
      }
      let record = try await recorder.records(count: 1)[0]
      #expect(record.status == 101)
      #expect(record.source == .tunnel)
      #expect((record.bytesSent, record.bytesReceived) == (15, 9))
      #expect(record.isComplete)
      #expect(record.url == "http://origin.test/a")
    }
  }

  @Test func `works in a forward proxy as well`() async throws {
    let echo = try TalkingServer.echo()
    let text = try await withTunnels(to: echo.port) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send(
          "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
        )
        _ = client.read(until: "\r\n\r\n")
        return client.read(count: 5).text
      }
    }
    #expect(text == "first")
  }

  @Test func `gets the answer of a server that stays with HTTP, and the next one`() async throws {
    try await withOrigin { port, _ in
      try await onThread { [text = request(port, "refused")] in
        let client = try RawClient(port: port)
        for _ in 0..<3 {
          client.send(text)
          let answer = client.readAnswer()
          #expect(answer.status == 426)
          #expect(answer.body == "no")
        }
      }
    }
  }

  @Test func `is sent again without the wish if the server ignores that`() async throws {
    let recorder = Recorder()
    try await withOrigin([recorder], { $0.tunnelLimit = 1 }) { port, _ in
      for _ in 0..<3 {
        let answer = try await exchange(port, request(port, "ignored"))
        #expect(answer.status == 200 && answer.body == "ok")
      }
      #expect(try await recorder.records(count: 3).allSatisfy { $0.isComplete })
    }
  }

  @Test(arguments: ["unnamed", "empty"])
  func `gets 502 if the server does not name the protocol of its 101`(name: String) async throws {
    let recorder = Recorder()
    try await withOrigin([recorder], { $0.tunnelLimit = 1 }) { port, _ in
      for _ in 0..<2 {
        let answer = try await exchange(port, request(port, name), untilClosed: true)
        #expect(answer.status == 502)
      }
      let records = try await recorder.records(count: 2)
      #expect(records.allSatisfy { $0.source == .proxy })
    }
  }

  @Test func `gets a 304 without a length that the origin has not told`() async throws {
    let head = try await withOrigin { port, _ in
      try await onThread { [text = request(port, "unchanged")] in
        let client = try RawClient(port: port)
        client.send(text)
        return client.read(until: "\r\n\r\n")
      }
    }
    #expect(head.status == 304 && head.field("Content-Length") == nil)
  }

  @Test(arguments: [
    ("h2c", "", "GET"), ("websocket", "Content-Length: 1\r\n", "GET"), ("websocket", "", "POST"),
    ("", "", "GET"), (" , h2c", "", "GET"), ("TLS/1.2", "", "GET"), ("HTTP/3.0", "", "GET"),
  ])
  func `is ignored for TLS and other versions of HTTP, with a body, and for other methods`(
    name: String, more: String, method: String
  ) async throws {
    let answer = try await withOrigin { port, _ in
      let text = request(port, name, more: more) + (more.isEmpty ? "" : "x")
      return try await exchange(port, method + text.dropFirst(3))
    }
    #expect(answer.body == "ok")
  }

  @Test func `offline is a request for what is stored`() async throws {
    let answer = try await withOrigin([], { $0.isOffline = true }) { port, _ in
      try await exchange(port, request(port))
    }
    #expect(answer.status == 200 && answer.body == "ok")
  }

  @Test func `is refused when too many tunnels are open, and not after they have ended`()
    async throws
  {
    let recorder = Recorder()
    try await withOrigin([recorder], { $0.tunnelLimit = 1 }) { port, _ in
      let text = request(port)
      let client = try RawClient(port: port)
      try await onThread {
        client.send(text)
        _ = client.read(count: 1)
      }
      #expect(try await exchange(port, text).status == 503)
      client.finishSending()
      _ = try await recorder.records(count: 2)
      #expect(
        try await onThread {
          let next = try RawClient(port: port)
          next.send(text)
          return next.read(until: "\r\n\r\n").status
        } == 101)
    }
  }

  @Test func `is cut when the server stops, which does not wait for it`() async throws {
    let recorder = Recorder()
    let end = try await withOrigin([recorder]) { port, server in
      let client = try RawClient(port: port)
      try await onThread { [text = request(port)] in
        client.send(text)
        _ = client.read(until: "first ")
      }
      #expect(await server.stop(grace: .seconds(60)) == 0)
      return try await onThread { client.read().end }
    }
    #expect(end == .reset)
    #expect(try await recorder.records(count: 1)[0].isComplete == false)
  }

  /// Counts tunnels as the status page does.
  private final class Counter: ProxyObserver {
    let traffic = Traffic()
    func answered(_ record: AnswerRecord) { traffic.add(record) }
    func tunnelBegan() { traffic.tunnelBegan() }
  }

  @Test func `of a client that leaves before the 101 counts as no tunnel, or one that ended`()
    async throws
  {
    let echo = try TalkingServer.echo()
    let client = Mutex<RawClient?>(nil)
    var tunnels = LoopbackTunnels(port: echo.port)
    tunnels.beforeSwitch = {
      client.withLock { client in
        client?.breakConnection()
        client = nil
      }
    }
    let (counter, recorder) = (Counter(), Recorder())
    let server = ProxyServer(
      backend: ScriptedBackend(),
      options: ProxyOptions(
        listen: ListenAddress(host: "127.0.0.1", port: 0),
        origin: try NormalizedURL("http://origin.test")),
      pages: nil, observers: [counter, recorder], tunnels: tunnels,
      identity: ProxyIdentity(pseudonym: "test"), clock: TestClock())
    try await run(server) { port, _ in
      try client.withLock { client in
        client = try RawClient(port: port)
        client?.send(request(port))
      }
      _ = try await recorder.records(count: 1)
    }
    let counts = counter.traffic.report(at: Timestamp(nanoseconds: 0)).tunnels
    #expect(counts.began == counts.ended)
  }
}
