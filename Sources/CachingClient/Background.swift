import Synchronization

/// Runs work that nobody waits for, up to a limit.
final class Background: Sendable {
  private struct State {
    var running = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int) {
    self.limit = limit
  }

  /// Starts work, unless as much as is allowed is under way.
  func run(_ work: @escaping @Sendable () async -> Void) {
    let isAllowed = state.withLock { state in
      guard state.running < limit else { return false }
      state.running += 1
      return true
    }
    guard isAllowed else { return }
    Task {
      await work()
      end()
    }
  }

  private func end() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.running -= 1
      guard state.running == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.running > 0 { state.waiters.append(continuation) }
        return state.running == 0
      }
      if isIdle { continuation.resume() }
    }
  }
}
