import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A server that stops", .timeLimit(.minutes(5))) struct RunningServerTests {
  /// Answers when the gate opens, and tells when it was asked.
  private struct Gated {
    let backend: ScriptedBackend
    let asked: AsyncStream<Void>
    let opener: AsyncStream<Void>.Continuation

    init() {
      let (asked, asks) = AsyncStream.makeStream(of: Void.self)
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      self.asked = asked
      self.opener = opener
      backend = ScriptedBackend(answering: { _, _, _ in
        asks.yield()
        for await _ in gate { break }
        return .text("late")
      })
    }
  }

  @Test func `finishes answers under way, and ends their connections`() async throws {
    let gated = Gated()
    let reading = try await withServer(gated.backend) { port, server in
      async let reading = exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
      for await _ in gated.asked { break }
      async let cut = server.stop(grace: .seconds(60))
      // Nobody else is let in any more, sooner or later.
      await eventually { (try? RawClient(port: port)) == nil }
      gated.opener.yield()
      #expect(await cut == 0)
      return try await reading
    }
    #expect(reading.body == "late")
    #expect(reading.field("Connection") == "close")
    #expect(reading.end == .closed)
  }

  @Test func `cuts off what is not done in time`() async throws {
    let gated = Gated()
    let recorder = Recorder()
    let (reading, cut) = try await withServer(gated.backend, observers: [recorder]) {
      port, server in
      async let reading = exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
      for await _ in gated.asked { break }
      let cut = await server.stop(grace: .zero)
      return (try await reading, cut)
    }
    gated.opener.yield()
    #expect(cut == 1)
    #expect(reading.bytes.isEmpty)
    #expect(reading.end != .open)
    #expect(try await recorder.records(count: 1)[0].isComplete == false)
  }

  @Test func `cuts off a transfer in its middle, which does not look complete`() async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(Pieces { _ in [UInt8](repeating: 65, count: 100_000) }, length: 1 << 40)
    })
    let (end, cut) = try await withServer(backend) { port, server in
      let client = try RawClient(port: port)
      _ = try await onThread {
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return client.drain(upTo: 1_000_000)
      }
      let cut = await server.stop(grace: .zero)
      return (try await onThread { client.drain().end }, cut)
    }
    #expect(cut == 1)
    #expect(end != .open)
  }

  @Test func `cuts off uploads that hang`() async throws {
    let (asked, asks) = AsyncStream.makeStream(of: Void.self)
    let backend = ScriptedBackend(answering: { _, body, _ in
      asks.yield()
      return .text(await body.bytes() == nil ? "broken" : "whole")
    })
    try await withServer(backend) { port, server in
      let client = try RawClient(port: port)
      try await onThread {
        _ = client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
      }
      for await _ in asked { break }
      #expect(await server.stop(grace: .zero) == 1)
    }
  }

  @Test func `ends idle connections at once`() async throws {
    try await withServer(ScriptedBackend()) { port, server in
      let client = try RawClient(port: port)
      let reading = try await onThread {
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return client.readAnswer()
      }
      #expect(reading.status == 200)
      #expect(await server.stop(grace: .seconds(60)) == 0)
      #expect(try await onThread { client.read().end } != .open)
    }
  }
}

@Suite("Many clients") struct ManyClientsTests {
  @Test func `that are idle do not keep others from being served`() async throws {
    try await withServer(ScriptedBackend()) { port, _ in
      let idle = try await onThread { try (0..<1000).map { _ in try RawClient(port: port) } }
      let reading = try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(reading.status == 200)
      // They are still there, and are served in turn.
      let all = try await onThread {
        for client in idle { client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
        return idle.map { $0.readAnswer().body }
      }
      #expect(all.allSatisfy { $0 == "ok" })
    }
  }

  @Test func `that are stopped at random places leave nothing behind`() async throws {
    let seed = UInt64.random(in: .min ... .max)
    print("seed \(seed)")
    let requests = [
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
        + String(repeating: "x", count: 100_000),
      "POST /late HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    ]
    let backend = ScriptedBackend(answering: { request, body, _ in
      switch request.url.target {
      case "/stream": return .stream(Pieces(Array(repeating: "0123456789", count: 1000)))
      case "/late":
        await Task.yield()
        return .text("late")
      default: return .text("\(await body.bytes()?.count ?? -1)")
      }
    })
    // Some who leave in the middle of a head are missed after this time only.
    try await withServer(backend, idleSeconds: 1) { port, server in
      try await onThread {
        var numbers = SplitMix64(seed: seed)
        for _ in 0..<400 {
          let client = try RawClient(port: port)
          let request = requests[Int.random(in: 0..<requests.count, using: &numbers)]
          let count = Int.random(in: 0...request.utf8.count, using: &numbers)
          let isWhole = Bool.random(using: &numbers)
          client.send(Array(request.utf8.prefix(isWhole ? .max : count)))
          if isWhole { _ = client.drain(upTo: Int.random(in: 0...100, using: &numbers)) }
        }
      }
      await eventually { server.activeCount == 0 }
      #expect(try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").status == 200)
    }
  }
}
