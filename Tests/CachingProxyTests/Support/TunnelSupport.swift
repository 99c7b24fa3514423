import CLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization
import TestSupport

@testable import CachingProxy

/// Connects to a port of loopback, whatever the target is.
struct LoopbackTunnels: TunnelTransport {
  let port: UInt16
  var failure: TransportError.Code?
  /// Called before a server switches its protocol.
  var beforeSwitch: @Sendable () -> Void = {}

  func connect(to target: TunnelTarget) async throws(TransportError) -> any TunnelEnd {
    if let failure { throw TransportError(failure, url: target.authority) }
    if let address = IPAddress(target.host), !target.allows(address, target.port) {
      throw TransportError(.forbiddenAddress, url: target.authority)
    }
    guard let client = try? RawClient(port: port) else {
      throw TransportError(.cannotConnect, url: target.authority)
    }
    return SocketEnd(dup(client.descriptor))
  }

  func upgrade(
    _ request: HTTPRequest, to target: TunnelTarget
  ) async throws(TransportError) -> UpgradeAnswer {
    guard let name = request.fields.first(named: "Upgrade") else {
      throw TransportError(.invalidRequest, url: target.authority)
    }
    if name.text == "refused" {
      return .answered(HTTPResponseHead(status: 426), body: Array("no".utf8))
    }
    if name.text == "ignored" { return .ignored }
    if name.text == "unchanged" { return .answered(HTTPResponseHead(status: 304), body: []) }
    beforeSwitch()
    var fields: HTTPFields = [name, HTTPField("X", "y")]
    if name.text == "unnamed" { fields.removeAll(named: "Upgrade") }
    if name.text == "empty" { fields.replace(with: HTTPField("Upgrade", "")) }
    return .switched(
      HTTPResponseHead(status: 101, fields: fields),
      server: try await connect(to: target), first: Array("first ".utf8))
  }
}

/// A server that talks to each of its connections as a test says, on a thread for each.
final class TalkingServer: Sendable {
  let listener: LoopbackListener
  var port: UInt16 { listener.port }

  init(_ talk: @escaping @Sendable (RawClient) -> Void) throws {
    let listener = try LoopbackListener()
    self.listener = listener
    try startThread {
      while let connection = listener.accept() {
        try? startThread { talk(RawClient(descriptor: connection)) }
      }
    }
  }

  deinit { listener.stop() }

  /// A server that sends back what it gets.
  static func echo() throws -> TalkingServer {
    try TalkingServer { client in
      while true {
        let piece = client.readSome()
        if piece.isEmpty { break }
        if !client.send(piece) { break }
      }
      client.finishSending()
      _ = client.drain()
    }
  }
}

/// Runs a forward proxy with tunnels for the time of a test.
func withTunnels<Result: Sendable>(
  to port: UInt16, failure: TransportError.Code? = nil, observers: [any ProxyObserver] = [],
  idleSeconds: Int = 75, _ change: (inout ProxyOptions) -> Void = { _ in },
  _ body: (UInt16, ProxyServer) async throws -> Result
) async throws -> Result {
  var options = ProxyOptions(
    listen: ListenAddress(host: "127.0.0.1", port: 0), idleSeconds: idleSeconds)
  change(&options)
  let server = ProxyServer(
    backend: ScriptedBackend(), options: options, pages: nil, observers: observers,
    tunnels: LoopbackTunnels(port: port, failure: failure),
    identity: ProxyIdentity(pseudonym: "test"), clock: TestClock())
  return try await run(server, body)
}

extension RawClient {
  /// Asks for a tunnel, and returns the head of the answer.
  func openTunnel(_ target: String = "a.test:443", _ more: String = "") -> Reading {
    send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n" + more)
    return read(until: "\r\n\r\n")
  }
}
