import CacheSystem

/// A limit of simultaneous transfers, in total and for each host; the others wait in order of
/// priority.
final class DownloadSlots: Sendable {
  private struct Waiter {
    let host: String
    let priority: Int
    let number: UInt64
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var running: [String: Int] = [:]
    var total = 0
    var waiters: [Waiter] = []
    var nextNumber: UInt64 = 0
  }

  private let limit: Int
  private let limitPerHost: Int
  private let state = Lock(State())

  init(limit: Int, perHost: Int) {
    self.limit = max(1, limit)
    limitPerHost = max(1, perHost)
  }

  var isBusy: Bool { state.withLock { $0.total > 0 } }

  /// Waits for a turn; returns false if the task was cancelled first.
  func acquire(_ host: String, priority: Int) async -> Bool {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          if take(host, &state) { return true }
          let place = state.waiters.firstIndex { $0.priority < priority } ?? state.waiters.count
          state.waiters.insert(
            Waiter(host: host, priority: priority, number: number, continuation: continuation),
            at: place)
          return nil
        }
        if let answer { callOut { continuation.resume(returning: answer) } }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
      }
      if let waiter { callOut { waiter.continuation.resume(returning: false) } }
    }
  }

  /// Returns a turn, which goes to the first waiter whose host is below its limit.
  func release(_ host: String) {
    let next = state.withLock { state -> Waiter? in
      state.total -= 1
      state.running[host, default: 1] -= 1
      if state.running[host] == 0 { state.running[host] = nil }
      let index = state.waiters.firstIndex { state.running[$0.host, default: 0] < limitPerHost }
      guard let index else { return nil }
      let waiter = state.waiters.remove(at: index)
      _ = take(waiter.host, &state)
      return waiter
    }
    if let next { callOut { next.continuation.resume(returning: true) } }
  }

  private func take(_ host: String, _ state: inout State) -> Bool {
    guard state.total < limit, state.running[host, default: 0] < limitPerHost else { return false }
    state.total += 1
    state.running[host, default: 0] += 1
    return true
  }
}
