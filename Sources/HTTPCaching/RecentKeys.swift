import CacheFormat
import CacheSystem
import Synchronization

/// The last keys of which something is known that the store does not say, each with a time.
final class RecentKeys: Sendable {
  private struct State {
    var times: [ByteString: Timestamp] = [:]
    var order: [ByteString] = []
  }

  /// The most keys that are remembered; the oldest is forgotten for another.
  private let maximumCount: Int
  private let state = Lock(State())
  /// Whether there is one, so that a look-up need not lock.
  private let isUsed = Atomic(false)

  init(maximumCount: Int) {
    self.maximumCount = maximumCount
  }

  /// Remembers a key; of several times the latest counts.
  func insert(_ key: ByteString, at time: Timestamp = .distantPast) {
    state.withLock { state in
      if let known = state.times[key] {
        state.times[key] = max(known, time)
        return
      }
      if state.order.count == maximumCount { state.times[state.order.removeFirst()] = nil }
      state.order.append(key)
      state.times[key] = time
      isUsed.store(true, ordering: .relaxed)
    }
  }

  func remove(_ key: ByteString) {
    guard isUsed.load(ordering: .relaxed) else { return }
    state.withLock { state in
      guard state.times.removeValue(forKey: key) != nil else { return }
      state.order.removeAll { $0 == key }
    }
  }

  /// Returns the time of a key; `nil` if it is not remembered.
  func time(of key: ByteString) -> Timestamp? {
    guard isUsed.load(ordering: .relaxed) else { return nil }
    return state.withLock { $0.times[key] }
  }
}
