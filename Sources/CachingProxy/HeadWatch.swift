import CacheSystem

/// Ends connections on which the head of a request does not come in time: after their beginning, with
/// the handshake of TLS, and after the end of each answer. Also lets the exchanges notice clients that
/// have left.
///
/// libmicrohttpd 0.9.75 limits only the time between two bytes, and must not do even that during a
/// handshake (``ServerDaemon``).
/// It looks at all connections once a second.
final class HeadWatch: Sendable {
  private struct Watched {
    var client: ClientInfo
    /// The number of requests that had ended when ``end`` was set.
    var answered = 0
    var end: ContinuousClock.Instant
  }

  private struct State {
    var clients: [Watched] = []
    var isStopping = false
  }

  private let state = Monitor(State())
  private let patience: Duration

  /// Starts the thread; returns `nil` if the system cannot.
  init?(patience: Duration, _ exchanges: ExchangeRegistry) {
    self.patience = patience
    let started: Void? = try? startThread { [state] in
      while !Self.look(state, patience) {
        exchanges.noticeLeaving()
        _ = state.wait(nanoseconds: 1_000_000_000) { $0.isStopping ? () : nil }
      }
    }
    if started == nil { return nil }
  }

  func add(_ client: ClientInfo) {
    state.change { $0.clients.append(Watched(client: client, end: .now + patience)) }
  }

  deinit { state.change { $0.isStopping = true } }

  /// Ends the connections whose time is over; returns whether the thread has to end.
  private static func look(_ state: Monitor<State>, _ patience: Duration) -> Bool {
    let now = ContinuousClock.now
    var gone: [Watched] = []
    let isStopping = state.change { state in
      var rest: [Watched] = []
      for var watched in state.clients {
        if watched.client.isGone {
          gone.append(watched)
          continue
        }
        let answered = watched.client.answered
        if watched.client.isAsking || answered != watched.answered {
          watched.answered = answered
          watched.end = now + patience
        } else if watched.end <= now {
          watched.client.endWithoutRequest()
        }
        rest.append(watched)
      }
      state.clients = rest
      return state.isStopping
    }
    // Released here, without the lock.
    _ = consume gone
    return isStopping
  }
}
