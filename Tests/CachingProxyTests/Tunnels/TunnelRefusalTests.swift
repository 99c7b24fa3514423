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
