import CacheSystem

/// Ends connections with TLS whose first request does not come in time.
///
/// libmicrohttpd 0.9.75 has no time limit before the handshake has ended. The clients of a second
/// are kept until its end, even those that have left; otherwise their number is limited as that of
/// connections is.
final class HandshakeWatch: Sendable {
  private struct State {
    var waiting: [(client: ClientInfo, end: ContinuousClock.Instant)] = []
    var isStopping = false
  }

  private let state = Monitor(State())
  private let patience: Duration

  /// Starts the thread; returns `nil` if the system cannot.
  init?(patience: Duration) {
    self.patience = patience
    let started: Void? = try? startThread { [state] in Self.run(state) }
    if started == nil { return nil }
  }

  /// Begins to watch a client.
  func add(_ client: ClientInfo) {
    state.change { $0.waiting.append((client, .now + patience)) }
  }

  /// Ends the thread, without waiting for it.
  func stop() { state.change { $0.isStopping = true } }

  private static func run(_ state: Monitor<State>) {
    while true {
      let (done, late, isStopping) = state.change { state in
        let done = state.waiting.filter { $0.client.needsNoWatch }
        let rest = state.waiting.filter { !$0.client.needsNoWatch }
        let late = rest.filter { $0.end <= .now }
        state.waiting = rest.filter { $0.end > .now }
        return (done, late, state.isStopping)
      }
      // Released here, without the lock.
      _ = consume done
      for (client, _) in late { client.endWithoutRequest() }
      if isStopping { return }
      _ = state.wait(nanoseconds: 1_000_000_000) { $0.isStopping ? () : nil }
    }
  }
}
