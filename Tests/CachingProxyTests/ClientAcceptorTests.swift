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
      let connect: ClientAcceptor.Receivers.Connect = { client, head in
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

  @Test func `hands over the one that has begun a CONNECT before it makes room`() async throws {
    let accepting = try Accepting(maximumWaiting: 1)
    try await onThread {
      let slow = try RawClient(port: accepting.port)
      slow.send("CONNECT a")
      let other = try RawClient(port: accepting.port)
      #expect(slow.read().end == .closed)
      #expect(accepting.handed.change { $0.connects } == [Array("CONNECT a".utf8)])
      _ = other
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

  @Test func `hands over other requests as they were sent`() async throws {
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

  @Test func `is held up by nobody who sends little, and closes those`() async throws {
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
}
