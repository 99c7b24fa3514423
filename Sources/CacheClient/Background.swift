import CacheSystem

/// Runs work that no caller waits for: one piece for a key at a time, up to a limit.
final class Background: Sendable {
  private struct State {
    var running: Set<ByteString> = []
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let limit: Int
  private let state = Lock(State())

  init(limit: Int) {
    self.limit = limit
  }

  /// Starts work for a key, unless the same key has some already, or the limit is reached.
  ///
  /// - Returns: whether it is started.
  @discardableResult
  func run(_ key: ByteString, _ work: @escaping @Sendable () async -> Void) -> Bool {
    let isAllowed = state.withLock { state in
      state.running.count < limit && state.running.insert(key).inserted
    }
    guard isAllowed else { return false }
    Task {
      await work()
      end(key)
    }
    return true
  }

  private func end(_ key: ByteString) {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.running.remove(key)
      guard state.running.isEmpty else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { callOut { waiter.resume() } }
  }

  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if !state.running.isEmpty { state.waiters.append(continuation) }
        return state.running.isEmpty
      }
      if isIdle { callOut { continuation.resume() } }
    }
  }
}
