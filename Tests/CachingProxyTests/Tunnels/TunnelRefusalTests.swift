import CacheSystem
import HTTPSemantics
import HTTPTransports
import TestSupport
import Testing

@testable import CachingProxy

@Suite("What becomes no tunnel", .timeLimit(.minutes(3))) struct TunnelRefusalTests {
  @Test(arguments: [
    ("CONNECT a.test:22 HTTP/1.1\r\nHost: a.test:22\r\n\r\n", 403),
    ("CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("CONNECT a.test:0 HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("CONNECT a.test:65979 HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("CONNECT http://a.test:443/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("CONNECT u@a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/2.0\r\nHost: a.test\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\0\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("CONNECT \(String(repeating: "a", count: 300)):443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\nVia: 1.1 test\r\n\r\n", 508),
    ("CONNECT a.test:443 HTTP/1.1\r\nX: \(String(repeating: "a", count: 20_000))", 431),
  ])
  func `gets an answer that says why, and the connection ends`(
    request: String, status: Int
  ) async throws {
    let echo = try TalkingServer.echo()
    let recorder = Recorder()
    try await withTunnels(to: echo.port, observers: [recorder]) { port, _ in
      let reading = try await exchange(port, request, untilClosed: true)
      #expect(reading.status == status)
      #expect(reading.end == .closed)
      #expect(reading.body.hasPrefix("\(status): "))
      let record = try await recorder.records(count: 1)[0]
      #expect(record.status == status)
      #expect(record.account?.outcome == .error)
    }
  }

  @Test func `offline there is no tunnel`() async throws {
    let echo = try TalkingServer.echo()
    let reading = try await withTunnels(to: echo.port, { $0.isOffline = true }) { port, _ in
      try await onThread { try RawClient(port: port).openTunnel() }
    }
    #expect(reading.status == 504)
  }

  @Test(arguments: [
    (TransportError.Code.cannotResolve, 502), (.cannotConnect, 502), (.timeout, 504),
    (.forbiddenAddress, 403), (.certificate, 502),
  ])
  func `a server that cannot be reached is an error`(
    code: TransportError.Code, status: Int
  ) async throws {
    let reading = try await withTunnels(to: 1, failure: code) { port, _ in
      try await onThread { try RawClient(port: port).openTunnel() }
    }
    #expect(reading.status == status)
  }

  @Test func `the proxy itself is never the other end`() async throws {
    let echo = try TalkingServer.echo()
    try await withTunnels(to: echo.port, { $0.connectPorts = Set(1...65535) }) { port, _ in
      try await onThread {
        for host in ["127.0.0.1", "127.1.2.3", "0.0.0.0"] {
          let client = try RawClient(port: port)
          #expect(client.openTunnel("\(host):\(port)").status == 403)
        }
        let client = try RawClient(port: port)
        #expect(client.openTunnel("127.0.0.1:\(echo.port)").status == 200)
      }
    }
  }

  @Test func `other requests come to the library as they were sent`() async throws {
    let echo = try TalkingServer.echo()
    try await withTunnels(to: echo.port) { port, _ in
      try await onThread {
        for method in ["GET", "C", "CONN", "COPY", "CONNECTX"] {
          let client = try RawClient(port: port)
          for byte in "\(method) http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n".utf8 {
            client.send([byte])
          }
          #expect(client.readAnswer().body == "ok", "\(method)")
          client.send("GET http://a.test/b HTTP/1.1\r\nHost: a.test\r\n\r\n")
          #expect(client.readAnswer().body == "ok")
          // Only the first request can open a tunnel.
          #expect(client.openTunnel().status == 501)
        }
      }
    }
  }

  @Test func `clients that send little hold up nobody, and are closed`() async throws {
    let echo = try TalkingServer.echo()
    try await withTunnels(to: echo.port, idleSeconds: 1) { port, _ in
      try await onThread {
        let silent = try (0..<50).map { _ in try RawClient(port: port) }
        let slow = try (0..<50).map { _ in try RawClient(port: port) }
        for client in slow { client.send("CONN") }
        let begun = try RawClient(port: port)
        begun.send("CONNECT a.test:443 HT")
        let client = try RawClient(port: port)
        #expect(client.openTunnel().status == 200)
        #expect(begun.read().status == 431)
        for client in silent { #expect(client.read().end == .closed) }
        for client in slow { #expect(client.read().end != .open) }
        // A client that leaves within the method.
        let left = try RawClient(port: port)
        left.send("CONN")
        left.finishSending()
        #expect(left.read().end == .closed)
      }
    }
  }

  @Test func `a reverse proxy opens no tunnels`() async throws {
    let echo = try TalkingServer.echo()
    let reading = try await withTunnels(
      to: echo.port, { $0.origin = try? NormalizedURL("http://origin.test") }
    ) { port, _ in
      try await exchange(
        port, "CONNECT a:443 HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n",
        untilClosed: true)
    }
    #expect(reading.status == 501)
  }
}
