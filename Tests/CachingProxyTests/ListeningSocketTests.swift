import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

/// Names and addresses to listen at, and whether others can connect to them.
private let listenHosts: [(String, Bool)] =
  localNames.map { ($0, false) } + [
    ("127.0.0.1", false), ("::1", false), ("2130706433", false), ("127.1", false),
    ("::ffff:127.0.0.1", false), ("0.0.0.0", true), ("::", true), ("0", true),
  ]

@Suite("A server at its address") struct ListeningSocketTests {
  @Test func `that finds its address in use says so`() async throws {
    try await withServer(ScriptedBackend()) { port, _ in
      let address = ListenAddress(host: "127.0.0.1", port: port)
      let second = ProxyServer(
        backend: ScriptedBackend(), options: ProxyOptions(listen: address), pages: nil,
        observers: [], clock: TestClock())
      let error = #expect(throws: ProxyError.self) { try second.start() }
      #expect(error == ProxyError(.addressInUse, subject: address.description))
    }
  }

  @Test(arguments: ["::1", "127.0.0.1"] + localNames)
  func `listens at the given address`(host: String) async throws {
    let server = ProxyServer(
      backend: ScriptedBackend(), options: ProxyOptions(listen: ListenAddress(host: host, port: 0)),
      pages: nil, observers: [], clock: TestClock())
    let address = try server.start()
    #expect(address.host == host)
    #expect(address.port > 0)
    await server.stop(grace: .zero)
  }

  @Test func `does not listen at addresses of others`() {
    let address = ListenAddress(host: "192.0.2.1", port: 0)
    let server = ProxyServer(
      backend: ScriptedBackend(), options: ProxyOptions(listen: address), pages: nil, observers: [],
      clock: TestClock())
    let error = #expect(throws: ProxyError.self) { try server.start() }
    #expect(error == ProxyError(.addressNotAvailable, subject: "192.0.2.1:0"))
  }

  @Test(arguments: listenHosts)
  func `knows by the address that is bound who can connect`(host: String, isOpen: Bool) async throws
  {
    let server = ProxyServer(
      backend: ScriptedBackend(),
      options: ProxyOptions(
        listen: ListenAddress(host: host, port: 0), origin: try NormalizedURL("http://o.test/")),
      pages: nil, observers: [], clock: TestClock())
    #expect(!server.isOpenToOthers)
    _ = try server.start()
    #expect(server.isOpenToOthers == isOpen)
    await server.stop(grace: .zero)
  }
}
