import CacheSystem
import HTTPSemantics
import HTTPTransports
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A tunnel", .timeLimit(.minutes(3))) struct TunnelDeskTests {
  @Test func `passes bytes in both directions, and is recorded`() async throws {
    let echo = try TalkingServer.echo()
    let recorder = Recorder()
    try await withTunnels(to: echo.port, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        let answer = client.openTunnel()
        #expect(answer.status == 200)
        #expect(answer.field("Via") == "1.1 test")
        #expect(answer.field("Content-Length") == nil)
        client.send("hello")
        #expect(client.read(count: 5).text == "hello")
        client.finishSending()
        #expect(client.read() == RawClient.Reading(bytes: [], end: .closed))
      }
      let record = try await recorder.records(count: 1)[0]
      #expect(record.method == "CONNECT")
      #expect(record.url == "a.test:443")
      #expect(record.status == 200)
      #expect(record.source == .tunnel)
      #expect((record.bytesSent, record.bytesReceived) == (5, 5))
      #expect(record.isComplete)
      #expect(record.account?.outcome == .bypass)
    }
  }

  @Test func `loses no bytes that come with the head`() async throws {
    let echo = try TalkingServer.echo()
    let reading = try await withTunnels(to: echo.port) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        _ = client.openTunnel("a.test:443", "early")
        client.send(" late")
        return client.read(count: 10)
      }
    }
    #expect(reading.text == "early late")
  }

  @Test func `answers a client that has sent all it has before it stands`() async throws {
    let echo = try TalkingServer.echo()
    let reading = try await withTunnels(to: echo.port) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\nall")
        client.finishSending()
        _ = client.read(until: "\r\n\r\n")
        return client.read()
      }
    }
    #expect(reading == RawClient.Reading(bytes: Array("all".utf8), end: .closed))
  }

  @Test func `is opened for a head that comes byte by byte`() async throws {
    let echo = try TalkingServer.echo()
    let reading = try await withTunnels(to: echo.port) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        for byte in "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\nx".utf8 {
          client.send([byte])
        }
        _ = client.read(until: "\r\n\r\n")
        return client.read(count: 1)
      }
    }
    #expect(reading.text == "x")
  }

  @Test func `lets the server speak first, and end first`() async throws {
    let server = try TalkingServer { client in
      client.send("welcome")
      client.finishSending()
      _ = client.read()
    }
    let reading = try await withTunnels(to: server.port) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        _ = client.openTunnel()
        let reading = client.read()
        // The other direction is still open.
        #expect(client.send("thanks"))
        client.finishSending()
        return reading
      }
    }
    #expect(reading == RawClient.Reading(bytes: Array("welcome".utf8), end: .closed))
  }

  @Test func `moves megabytes both ways at the same time`() async throws {
    let echo = try TalkingServer.echo()
    let count = 8 << 20
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
    let reading = try await withTunnels(to: echo.port) { port, _ in
      let client = try RawClient(port: port)
      return try await onThread {
        _ = client.openTunnel()
        try startThread {
          client.send(bytes)
          client.finishSending()
        }
        return client.read()
      }
    }
    #expect(reading.end == .closed)
    #expect(reading.bytes == bytes)
  }

  @Test func `keeps only some bytes for a client that does not read`() async throws {
    let server = try TalkingServer { client in
      let sent = client.sendUntilBlocked([UInt8](repeating: 65, count: 64 << 20))
      #expect(sent < 64 << 20)
    }
    try await withTunnels(to: server.port) { port, _ in
      let count = try await onThread {
        let client = try RawClient(port: port, receiveBuffer: 4096)
        _ = client.openTunnel()
        client.waitUntilFull()
        return client.drain().count
      }
      #expect(count < 64 << 20)
    }
  }

  @Test func `is cut when the server stops`() async throws {
    let echo = try TalkingServer.echo()
    let recorder = Recorder()
    let end = try await withTunnels(to: echo.port, observers: [recorder]) { port, server in
      let client = try RawClient(port: port)
      try await onThread { _ = client.openTunnel() }
      #expect(await server.stop(grace: .seconds(60)) == 0)
      return try await onThread { client.read().end }
    }
    #expect(end == .reset)
    #expect(try await recorder.records(count: 1)[0].isComplete == false)
  }

  @Test func `ends when no byte has come for its time`() async throws {
    let echo = try TalkingServer.echo()
    let recorder = Recorder()
    let end = try await withTunnels(
      to: echo.port, observers: [recorder], { $0.tunnelIdle = .milliseconds(20) }
    ) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        _ = client.openTunnel()
        return client.read().end
      }
    }
    #expect(end == .reset)
    #expect(try await recorder.records(count: 1)[0].isComplete == false)
  }

  @Test func `is refused when too many are open`() async throws {
    let echo = try TalkingServer.echo()
    try await withTunnels(to: echo.port, { $0.tunnelLimit = 2 }) { port, _ in
      try await onThread {
        let clients = try (0..<3).map { _ in try RawClient(port: port) }
        #expect(clients.map { $0.openTunnel().status } == [200, 200, 503])
      }
    }
  }

  @Test func `of a server that resets it is reset for the client`() async throws {
    let server = try TalkingServer { client in
      _ = client.read(count: 1)
      client.breakConnection()
    }
    let end = try await withTunnels(to: server.port) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        _ = client.openTunnel("a.test:443", "x")
        return client.read().end
      }
    }
    #expect(end == .reset)
  }

  @Test func `passes on the answer of a server that leaves during an upload`() async throws {
    let server = try TalkingServer { client in
      client.waitUntilFull()
      client.send("too large")
      // The bytes that were not read make the system reset the connection.
    }
    try await withTunnels(to: server.port) { port, _ in
      let reading = try await onThread {
        let client = try RawClient(port: port)
        _ = client.openTunnel()
        let piece = [UInt8](repeating: 65, count: 1 << 16)
        #expect((0..<1024).allSatisfy { _ in client.send(piece) })
        client.finishSending()
        return client.read()
      }
      #expect(reading == RawClient.Reading(bytes: Array("too large".utf8), end: .closed))
    }
  }
}
