import CacheFormat
import CacheSystem
import Synchronization

/// The last keys whose response was found damaged.
///
/// The look-up that finds the damage sets the entry aside. A request may be decided more than once, so
/// without this only the first decision could say why there is no response.
final class DamagedKeys: Sendable {
  /// The most keys that are remembered; the oldest is forgotten for another.
  private static let maximumCount = 64

  private let keys = Lock<[ByteString]>([])
  /// Whether there is one, so that a look-up without a result need not lock.
  private let isUsed = Atomic(false)

  func insert(_ key: ByteString) {
    keys.withLock { keys in
      if keys.contains(key) { return }
      if keys.count == Self.maximumCount { keys.removeFirst() }
      keys.append(key)
      isUsed.store(true, ordering: .relaxed)
    }
  }

  /// Forgets a key for which a response will be stored again.
  func remove(_ key: ByteString) {
    guard isUsed.load(ordering: .relaxed) else { return }
    keys.withLock { keys in keys.removeAll { $0 == key } }
  }

  func contains(_ key: ByteString) -> Bool {
    isUsed.load(ordering: .relaxed) && keys.withLock { $0.contains(key) }
  }
}
