import HTTPTransports
import Synchronization

/// The server's connection after a switch of protocols, until the client's is switched, too.
final class SwitchedServer: Sendable {
  private let server: any TunnelEnd
  private let first: [UInt8]
  private let hasBegun = Atomic<Bool>(false)
  private let add: @Sendable (sending Relay) -> Void
  private let leave: @Sendable () -> Void
  private let idle: Duration

  /// - Parameters:
  ///   - add: Takes over the tunnel.
  ///   - leave: Called once when the tunnel has ended, or will never begin.
  init(
    _ server: any TunnelEnd, first: [UInt8], idle: Duration,
    add: @escaping @Sendable (sending Relay) -> Void, leave: @escaping @Sendable () -> Void
  ) {
    self.server = server
    self.first = first
    self.idle = idle
    self.add = add
    self.leave = leave
  }

  deinit {
    guard !hasBegun.load(ordering: .relaxed) else { return }
    server.close(isBroken: true)
    leave()
  }

  /// Begins the tunnel; must be called at most once.
  ///
  /// - Parameters:
  ///   - early: The bytes that the client has sent before.
  ///   - head: The bytes that the client gets first; they are not counted.
  func begin(
    _ client: any TunnelEnd, _ early: [UInt8], after head: [UInt8] = [],
    ended: @escaping @Sendable (Relay.Result) -> Void
  ) {
    hasBegun.store(true, ordering: .relaxed)
    add(
      Relay(client: client, server: server, head: head, first: (early, first), idle: idle) {
        [leave] result in
        leave()
        ended(result)
      })
  }
}
