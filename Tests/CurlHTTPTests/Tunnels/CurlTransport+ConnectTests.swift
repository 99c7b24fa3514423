import CLibrary
import HTTPSemantics
import HTTPTransports
import LoopbackOrigin
import NginxOrigin
import Testing

@testable import CurlHTTP

@Suite("Connections for tunnels", .timeLimit(.minutes(2))) struct CurlTransportConnectTests {
  private func target(
    _ host: String, _ port: UInt16,
    allows: @escaping @Sendable (IPAddress, UInt16) -> Bool = { _, _ in true }
  ) -> TunnelTarget {
    TunnelTarget(host: host, port: port, via: "1.1 test", allows: allows)
  }

  /// Asks for `/` through a connection, and returns what comes up to the end of "hello".
  private func ask(_ end: any TunnelEnd) -> String {
    let request = Array("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
    #expect(unsafe request.withUnsafeBytes { unsafe end.write($0) } == .bytes(request.count))
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1000)
    while !bytes.suffix(5).elementsEqual("hello".utf8) {
      switch unsafe buffer.withUnsafeMutableBytes({ unsafe end.read(into: $0) }) {
      case .bytes(let count): bytes += buffer[..<count]
      case .wouldBlock: sched_yield()
      case .end, .failed: return ""
      }
    }
    end.close(isBroken: false)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `lead to the address that replaces that of the name, if it is allowed`() async throws {
    let origin = try LoopbackOrigin { _, connection in connection.answer("hello") }
    let port = UInt16(origin.port)
    var setup = NetworkSetup(proxy: .none)
    setup.resolves = ["nowhere.invalid:\(port):127.0.0.1"]
    let transport = try CurlTransport(setup)
    let loopback = try #require(IPAddress("127.0.0.1"))
    let end = try await transport.connect(
      to: target("nowhere.invalid", port) { $0 == loopback && $1 == port })
    #expect(ask(end).hasSuffix("hello"))
    await #expect(throws: TransportError(.forbiddenAddress, url: "nowhere.invalid:\(port)")) {
      _ = try await transport.connect(to: target("nowhere.invalid", port) { _, _ in false })
    }
  }

  @Test(arguments: ["2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"])
  func `count by their address, however it is written`(host: String) async throws {
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    await #expect(throws: TransportError(.forbiddenAddress, url: "\(host):9")) {
      _ = try await transport.connect(to: target(host, 9) { address, _ in !address.isPrivate })
    }
  }

  @Test func `to where nobody listens, and to unknown names, are errors`() async throws {
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    let port = try LoopbackListener.unusedPort()
    await #expect(throws: TransportError(.cannotConnect, url: "127.0.0.1:\(port)")) {
      _ = try await transport.connect(to: target("127.0.0.1", port))
    }
    await #expect(throws: TransportError(.cannotResolve, url: "nowhere.invalid:9")) {
      _ = try await transport.connect(to: target("nowhere.invalid", 9))
    }
  }

  @Test func `look up no names while too many are being looked up`() async throws {
    var setup = NetworkSetup(proxy: .none)
    setup.connections = 1
    let transport = try CurlTransport(setup)
    for _ in 0..<NameLookUps.limit { transport.loop.lookUps.abandon(at: .now) }
    let error = await #expect(throws: TransportError.self) {
      _ = try await transport.connect(to: target("nowhere.invalid", 9))
    }
    #expect(error?.code == .cannotResolve && error?.detail == NameLookUps.refusal)
    let port = try LoopbackListener.unusedPort()
    await #expect(throws: TransportError(.cannotConnect, url: "127.0.0.1:\(port)")) {
      _ = try await transport.connect(to: target("127.0.0.1", port))
    }
  }

  @Test func `go through a proxy, which gets Via, and literal addresses are checked`() async throws
  {
    let proxy = try LoopbackOrigin { request, connection in
      connection.answer(request.method == "CONNECT" ? "no" : "?", status: "403 Forbidden")
    }
    let transport = try CurlTransport(
      NetworkSetup(proxy: .url("http://127.0.0.1:\(proxy.port)")))
    await #expect(throws: TransportError.self) {
      _ = try await transport.connect(to: target("nowhere.invalid", 443))
    }
    #expect(proxy.requests.map(\.target) == ["nowhere.invalid:443"])
    #expect(proxy.requests[0].value(of: "Via") == "1.1 test")
    await #expect(throws: TransportError(.forbiddenAddress, url: "[::1]:443")) {
      _ = try await transport.connect(to: target("[::1]", 443) { address, _ in !address.isPrivate })
    }
    #expect(proxy.requests.count == 1)
  }

  @Test func `a request for another protocol ends with its task`() async throws {
    let asked = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in
      asked.continuation.finish()
      connection.waitForClose()
    }
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    let request = HTTPRequest(url: try NormalizedURL(origin.base + "/"))
    let target = target("127.0.0.1", origin.port)
    let upgrade = Task { try await transport.upgrade(request, to: target) }
    for await _ in asked.stream {}
    upgrade.cancel()
    await #expect(throws: TransportError(.cancelled, url: request.url.string)) {
      _ = try await upgrade.value
    }
    await origin.connectionEnd()
  }

  @Test func `it also ends while the connection is being made`() async throws {
    // It waits for a line that TLS does not have.
    let origin = try LoopbackOrigin { _, _ in }
    let transport = try CurlTransport(NetworkSetup(proxy: .none))
    let request = HTTPRequest(url: try NormalizedURL("https://127.0.0.1:\(origin.port)/"))
    let target = target("127.0.0.1", origin.port)
    let upgrade = Task { try await transport.upgrade(request, to: target) }
    await eventually { origin.connections == 1 }
    upgrade.cancel()
    let error = await #expect(throws: TransportError.self) { try await upgrade.value }
    #expect(error?.code == .cancelled)
    await origin.connectionEnd()
  }

  @Test(.enabled(if: NginxOrigin.isInstalled))
  func `a refusal without length is complete only if TLS was closed`() async throws {
    let origin = try await SecureOrigin { _, origin in
      try origin.send("HTTP/1.1 404 No\r\n\r\n12")
      try await origin.waitUntilSent()
      try origin.send(SecureOrigin.cut)
    }
    let request = HTTPRequest(url: try origin.address())
    await #expect(throws: TransportError(.truncatedBody, url: request.url.string)) {
      _ = try await origin.transport().upgrade(request, to: target("127.0.0.1", origin.port))
    }
  }
}
