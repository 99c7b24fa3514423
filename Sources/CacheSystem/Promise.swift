/// A value that is set once, later, for any number of tasks that wait for it.
package final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiters: [UInt64: CheckedContinuation<Value?, Never>] = [:]
    var nextWaiter: UInt64 = 0
  }

  private let state = Lock(State())

  package init() {}

  /// The value, or `nil` if it has not been set.
  package var valueNow: Value? { state.withLock { $0.value } }

  /// The number of tasks that wait, for tests.
  package var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Sets the value, unless one has been set before.
  package func settle(_ value: Value) {
    let waiters = state.withLock { state -> [CheckedContinuation<Value?, Never>] in
      guard state.value == nil else { return [] }
      state.value = value
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { callOut { waiter.resume(returning: value) } }
  }

  /// Waits for the value; returns `nil` if the task is cancelled first.
  package func value() async -> Value? {
    let number = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isNow, value) = state.withLock { state -> (Bool, Value?) in
          if let value = state.value { return (true, value) }
          // Set before the handler below runs, so one of the two sees the other.
          if Task.isCancelled { return (true, nil) }
          state.waiters[number] = continuation
          return (false, nil)
        }
        if isNow { callOut { continuation.resume(returning: value) } }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
      if let waiter { callOut { waiter.resume(returning: nil) } }
    }
  }
}
