import CacheFormat
import CacheSystem
import Synchronization

/// The keys whose responses are invalid, but could not be removed from the store, and since when.
///
/// So this process does not serve them, as far as there is memory for their keys. Other processes and
/// later ones do: only the store could tell them.
final class OutdatedKeys: Sendable {
  /// The most keys that are remembered; the oldest is forgotten for another.
  static let maximumCount = 1024

  private struct State {
    var times: [ByteString: Timestamp] = [:]
    /// The keys, the oldest first.
    var order: [ByteString] = []
  }

  private let state = Lock(State())
  /// Whether there is one, so that a look-up need not lock.
  private let isUsed = Atomic(false)

  /// Remembers that what was received before a time is invalid.
  func insert(_ key: ByteString, since time: Timestamp) {
    state.withLock { state in
      if let known = state.times[key] {
        state.times[key] = max(known, time)
        return
      }
      if state.order.count == Self.maximumCount {
        state.times[state.order.removeFirst()] = nil
      }
      state.order.append(key)
      state.times[key] = time
      isUsed.store(true, ordering: .relaxed)
    }
  }

  /// Returns the time before which responses of a key are invalid; `nil` if there is none.
  func time(of key: ByteString) -> Timestamp? {
    guard isUsed.load(ordering: .relaxed) else { return nil }
    return state.withLock { $0.times[key] }
  }
}
