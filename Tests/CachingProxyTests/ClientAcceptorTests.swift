import CacheSystem
import Testing

@testable import CachingProxy

@Suite("The acceptor of connections", .timeLimit(.minutes(3))) struct ClientAcceptorTests {
  /// What an acceptor has handed over.
  private struct Handed {
    var requests = 0
    var connects: [[UInt8]] = []
    var hasRoom = true
  }

  /// An acceptor with its port.
  private final class Accepting: Sendable {
    let handed = Monitor(Handed())
    let acceptor: ClientAcceptor
    let port: UInt16

    init(patience: Duration = .seconds(3600), maximumWaiting: Int = 8, tunnels: Bool = true) throws
    {
      let bound = try ListeningSocket.open(ListenAddress(host: "127.0.0.1", port: 0))
      port = bound.address.port
      let handed = handed
      let connect: ClientAcceptor.Receivers.Connect = { client, head, _ in
        handed.change { $0.connects.append(head) }
        client.close()
      }
      let receivers = ClientAcceptor.Receivers(
        hasRoom: { _ in handed.change { $0.hasRoom } },
        request: { client in
          handed.change { $0.requests += 1 }
          client.close()
        }, connect: tunnels ? connect : nil)
      let acceptor = ClientAcceptor(
        listener: bound.descriptor, patience: patience, maximumWaiting: maximumWaiting, receivers)
      self.acceptor = try #require(acceptor)
    }

    deinit { acceptor.stop() }
  }

  private let closed = RawClient.Reading(bytes: [], end: .closed)

  @Test func `closes the one that has waited longest for another`() async throws {
    let accepting = try Accepting(maximumWaiting: 2)
    try await onThread { [closed] in
      let clients = try (0..<3).map { _ in try RawClient(port: accepting.port) }
      #expect(clients[0].read() == closed)
      // The others are still heard.
      for client in clients[1...] { client.send("GET") }
      accepting.handed.wait { $0.requests == 2 ? () : nil }
    }
  }

  @Test func `hands over what a client has sent of a CONNECT when its time is over`() async throws {
    let accepting = try Accepting(patience: .milliseconds(20))
    try await onThread { [closed] in
      let silent = try RawClient(port: accepting.port)
      let slow = try RawClient(port: accepting.port)
      slow.send("CONNECT a")
      let connects = accepting.handed.wait { $0.connects.isEmpty ? nil : $0.connects }
      #expect(connects == [Array("CONNECT a".utf8)])
      #expect(silent.read() == closed)
    }
    #expect(accepting.handed.change { $0.requests } == 0)
  }

  @Test func `looks at nothing without tunnels`() async throws {
    let accepting = try Accepting(tunnels: false)
    try await onThread {
      let client = try RawClient(port: accepting.port)
      accepting.handed.wait { $0.requests == 1 ? () : nil }
      _ = client
    }
  }

  @Test func `accepts those that have waited for room as soon as there is some`() async throws {
    let accepting = try Accepting()
    try await onThread {
      accepting.handed.change { $0.hasRoom = false }
      let client = try RawClient(port: accepting.port)
      client.send("GET / HTTP/1.1\r\n\r\n")
      // A second one shows that the first one was left where it was.
      let other = try RawClient(port: accepting.port)
      other.send("GET / HTTP/1.1\r\n\r\n")
      #expect(accepting.handed.change { $0.requests } == 0)
      accepting.handed.change { $0.hasRoom = true }
      accepting.handed.wait { $0.requests == 2 ? () : nil }
    }
  }

  @Test func `closes all that wait when it stops, also a second time`() async throws {
    let accepting = try Accepting()
    try await onThread { [closed] in
      let silent = try RawClient(port: accepting.port)
      let slow = try RawClient(port: accepting.port)
      slow.send("CONNECT ")
      // Both were accepted if a third one was.
      let third = try RawClient(port: accepting.port)
      third.send("GET")
      accepting.handed.wait { $0.requests == 1 ? () : nil }
      accepting.acceptor.stop()
      accepting.acceptor.stop()
      #expect(silent.read() == closed)
      #expect(slow.read().bytes.isEmpty)
      #expect(throws: RawClient.NoConnection.self) { try RawClient(port: accepting.port) }
    }
    #expect(accepting.handed.change { $0.connects.isEmpty })
  }
}
