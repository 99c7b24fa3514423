internal import CacheFormat

/// What the journal says was removed, so that the tree does not bring it back: the files of a removed
/// entry may be there again after a power cut, as nobody syncs their going. Read where the journal is
/// not whole, and by a repair that finds files which the journal does not know.
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
  /// What went because its files were damaged or gone, and not because anybody wanted it to go.
  private var given: Set<Entry> = []

  /// Notes an entry that was stored.
  mutating func put(_ head: PutHead) {
    newest = max(newest, head.created.nanoseconds)
    let entry = Entry(hash: head.keyHash, variant: head.variant)
    removed[entry] = nil
    given.remove(entry)
  }

  mutating func remove(_ hash: KeyHash, _ variant: UInt64) {
    removed[Entry(hash: hash, variant: variant)] = newest
    given.remove(Entry(hash: hash, variant: variant))
  }

  /// Notes an entry that was given up as damaged. Nobody has removed it: it may be found since, whole.
  mutating func giveUp(_ hash: KeyHash, _ variant: UInt64) {
    given.insert(Entry(hash: hash, variant: variant))
  }

  mutating func clear() {
    given = []
    removed = [:]
    cleared = newest
  }

  /// Whether the last that was said of an entry is that it was given up.
  func haveGivenUp(_ hash: KeyHash, _ variant: UInt64) -> Bool {
    given.contains(Entry(hash: hash, variant: variant))
  }

  /// Whether what was stored at a time was removed after it. An entry that was stored again later is
  /// another one, also where its record is lost.
  func cover(_ hash: KeyHash, _ variant: UInt64, created: Timestamp) -> Bool {
    !haveGivenUp(hash, variant)
      && created.nanoseconds <= max(cleared, removed[Entry(hash: hash, variant: variant)] ?? .min)
  }
}
