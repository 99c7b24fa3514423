import CacheSystem
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

@Suite("An authority whose time ends", .timeLimit(.minutes(3))) struct InterceptorTests {
  /// Counts how often it is told of the end.
  private final class EndCount: ProxyObserver {
    let ends = Atomic(0)

    func answered(_ record: AnswerRecord) {}
    func authorityEnded() { ends.add(1, ordering: .relaxed) }
  }

  private let clock = TestClock(SystemClock().now())

  private func authority() throws -> LocalAuthority {
    let made = try #require(LocalAuthority.make(name: "Test", hosts: [], days: 2))
    return try LocalAuthority(
      certificate: made.certificate, key: made.key, path: "test", clock: clock)
  }

  @Test func `is not used any more, which is said once`() async throws {
    let (echo, authority, count) = (try TalkingServer.echo(), try authority(), EndCount())
    clock.advance(bySeconds: 3 * 86_400)
    try await withTunnels(to: echo.port, observers: [count], { $0.authority = authority }) {
      port, _ in
      try await onThread {
        for _ in 0..<2 {
          let client = try RawClient(port: port)
          #expect(client.openTunnel().status == 200)
          client.send("hello")
          #expect(client.read(count: 5).text == "hello")
        }
      }
    }
    #expect(count.ends.load(ordering: .relaxed) == 1 && authority.madeCount == 0)
  }

  @Test(arguments: [(0, "what went through tunnels"), (3 * 86_400, "the authority is expired")])
  func `is named offline`(seconds: Int64, reason: String) async throws {
    let (echo, authority) = (try TalkingServer.echo(), try authority())
    clock.advance(bySeconds: Double(seconds))
    let reading = try await withTunnels(
      to: echo.port,
      {
        $0.authority = authority
        $0.isOffline = true
        $0.tunnelledHosts = seconds == 0 ? [HostPattern("a.test")!] : []
      }
    ) { port, _ in
      try await exchange(
        port, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", untilClosed: true)
    }
    #expect(reading.status == 504 && reading.body.contains(reason), "\(reading.body)")
  }

  @Test func `does not serve other machines at all`() throws {
    var options = ProxyOptions(listen: ListenAddress(host: "0.0.0.0", port: 0))
    options.authority = try authority()
    let server = ProxyServer(
      backend: ScriptedBackend(), options: options, pages: nil, observers: [], clock: TestClock())
    let error = #expect(throws: ProxyError.self) { try server.start() }
    #expect(error?.code == .openAuthority)
  }
}
