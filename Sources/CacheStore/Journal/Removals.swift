internal import CacheFormat

/// What a journal that is not whole says was removed, so that the tree, which decides then, does not
/// bring it back: the files of a removed entry may be there again after a power cut, as nobody syncs
/// their going.
struct Removals {
  private struct Entry: Hashable {
    var hash: KeyHash
    var variant: UInt64
  }

  /// The latest time of storing that had been read when an entry was removed.
  private var removed: [Entry: Int64] = [:]
  /// The same for a removal of all.
  private var cleared = Int64.min
  private var newest = Int64.min

  /// Notes an entry that was stored.
  mutating func put(_ head: PutHead) {
    newest = max(newest, head.created.nanoseconds)
    removed[Entry(hash: head.keyHash, variant: head.variant)] = nil
  }

  mutating func remove(_ hash: KeyHash, _ variant: UInt64) {
    removed[Entry(hash: hash, variant: variant)] = newest
  }

  mutating func clear() {
    removed = [:]
    cleared = newest
  }

  /// Whether what was stored at a time was removed after it. An entry that was stored again later is
  /// another one, also where its record is lost.
  func cover(_ hash: KeyHash, _ variant: UInt64, created: Timestamp) -> Bool {
    created.nanoseconds <= max(cleared, removed[Entry(hash: hash, variant: variant)] ?? .min)
  }
}
