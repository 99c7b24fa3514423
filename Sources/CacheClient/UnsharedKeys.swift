import CacheSystem

/// Remembers keys whose answers could not be shared, although requests waited for one another. For
/// a while, requests for them are sent at the same time.
///
/// There are two generations of hashes. When the young one is full, it becomes the old one, and the
/// old one is discarded. So memory is bounded. Two keys with the same hash cost one more request.
final class UnsharedKeys: Sendable {
  /// How long an answer that could not be shared counts, in nanoseconds: a minute.
  static let lifetime: Int64 = 60_000_000_000

  static let maximumCount = 8192

  private struct State {
    var young: [Int: Int64] = [:]
    var old: [Int: Int64] = [:]
  }

  private let state = Lock(State())

  /// The number of remembered keys, including those that do not count any more.
  var count: Int { state.withLock { $0.young.count + $0.old.count } }

  /// Returns whether requests for a key need not wait for one another.
  func contains(_ key: ByteString, _ selection: Selection, now: Timestamp) -> Bool {
    let hash = Self.hash(key, selection)
    return state.withLock { state in
      guard let noted = state.young[hash] ?? state.old[hash] else { return false }
      let (age, overflow) = now.nanoseconds.subtractingReportingOverflow(noted)
      // A clock that was set back does not prolong the time.
      return !overflow && age >= 0 && age < Self.lifetime
    }
  }

  /// Records whether an answer could be shared.
  func note(_ key: ByteString, _ selection: Selection, isShareable: Bool, now: Timestamp) {
    let hash = Self.hash(key, selection)
    state.withLock { state in
      state.old[hash] = nil
      state.young[hash] = isShareable ? nil : now.nanoseconds
      guard state.young.count >= Self.maximumCount / 2 else { return }
      state.old = state.young
      state.young = [:]
    }
  }

  private static func hash(_ key: ByteString, _ selection: Selection) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    hasher.combine(selection)
    return hasher.finalize()
  }
}
