import CLibrary
import TestSupport
import Testing

@testable import CachingProxy

@Suite("The count of connections", .timeLimit(.minutes(3))) struct ConnectionCountTests {
  @Test func `has each connection from its hand-over to its end`() {
    let connections = ConnectionCount()
    for socket in [1, 2] as [Int32] { connections.handOver(socket) }
    #expect(!connections.isBelow(2))
    connections.begin(1)
    #expect(!connections.isBelow(2))
    connections.end()
    #expect(connections.isBelow(2))
    #expect(!connections.isBelow(1))
  }

  @Test func `has a socket that is handed over again once`() {
    let connections = ConnectionCount()
    for _ in 0..<3 { connections.handOver(1) }
    #expect(connections.isBelow(2))
  }

  @Test func `drops connections that the library has no memory to begin`() async throws {
    let core = ProxyCore(
      backend: ScriptedBackend(), router: TargetRouter(origin: nil),
      identity: ProxyIdentity(pseudonym: "test"), pages: nil, observers: [], clock: TestClock())
    let daemon = try #require(
      ServerDaemon(
        core: core, isEncrypted: false,
        options: ProxyOptions(listen: ListenAddress(host: "127.0.0.1", port: 0)),
        connectionLimit: 8, connectionMemory: .max / 2))
    try await onThread {
      let listener = try LoopbackListener()
      for _ in 0..<3 {
        let client = try RawClient(port: listener.port)
        let accepted = try #require(listener.accept())
        // A high number, which other tests do not use when it is free again.
        let high = Int32(min(sysconf(Int32(_SC_OPEN_MAX)), 10_000)) - 8
        let socket = fcntl(accepted, F_DUPFD_CLOEXEC, high)
        close(accepted)
        try #require(socket >= 0)
        daemon.add(NewClient(descriptor: socket, address: [UInt8](repeating: 0, count: 16)))
        #expect(client.read() == RawClient.Reading(bytes: [], end: .closed))
      }
      listener.stop()
    }
    #expect(core.connections.isBelow(1))
    daemon.stop()
  }
}
