import CacheFormat
import HTTPSemantics
import Synchronization

/// Remembers for a while what was asked for in vain by requests that waited for one another:
/// answers that cannot be shared. Requests for it are sent beside one another then.
///
/// Two generations of hashes: what is noted goes into the young one; when that is full it becomes
/// the old one, and the old one is forgotten. So memory is bounded. Two that have one hash cost a
/// request.
final class UnsharedKeys: Sendable {
  /// How long an answer that could not be shared counts, in nanoseconds: a minute.
  static let lifetime: Int64 = 60_000_000_000

  /// The most that is remembered.
  static let maximumCount = 8192

  private struct State {
    /// When each was noted.
    var young: [Int: Int64] = [:]
    var old: [Int: Int64] = [:]
  }

  private let state = Mutex(State())

  /// The number of those that are remembered, whether they still count or not.
  var count: Int { state.withLock { $0.young.count + $0.old.count } }

  /// Tells whether requests for a key need not wait for one another.
  func contains(_ key: ByteString, _ selection: Selection, now: Timestamp) -> Bool {
    let hash = Self.hash(key, selection)
    return state.withLock { state in
      guard let noted = state.young[hash] ?? state.old[hash] else { return false }
      let (age, overflow) = now.nanoseconds.subtractingReportingOverflow(noted)
      // A clock that was set back does not prolong it.
      return !overflow && age >= 0 && age < Self.lifetime
    }
  }

  /// Notes whether an answer could be shared.
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
