import CLibrary
import CacheSystem

/// The connections that were given to the server library and have not ended.
///
/// The library does not report a connection that it had no memory to begin. So each is kept by its
/// socket until it begins: if that socket is closed, or is the one of a new connection, it never
/// began.
final class ConnectionCount: Sendable {
  private let state = Lock((waiting: Set<Int32>(), begun: 0))

  /// Counts a connection that is about to be given to the library.
  func handOver(_ socket: Int32) { state.withLock { _ = $0.waiting.insert(socket) } }

  func begin(_ socket: Int32) {
    state.withLock { state in
      state.waiting.remove(socket)
      state.begun += 1
    }
  }

  /// Notes the end of a connection that has begun, before its socket is closed.
  func end() { state.withLock { $0.begun -= 1 } }

  /// Returns whether there are fewer connections than a limit.
  ///
  /// - Complexity: O(1); at the limit, O(connections that have not begun).
  func isBelow(_ limit: Int) -> Bool {
    state.withLock { state in
      if state.waiting.count + state.begun >= limit {
        state.waiting = state.waiting.filter { fcntl($0, F_GETFD) >= 0 }
      }
      return state.waiting.count + state.begun < limit
    }
  }
}
