internal import CacheFormat

/// The entries that were removed according to the journal, so that they are not recovered from the
/// tree. The files of a removed entry may be there again after a power cut, because their removal
/// is not synced. Noted if the journal is not whole, and by a check that finds files without a
/// record.
struct Removals {
  private struct Entry: Hashable {
    var hash: KeyHash
    var variant: UInt64
  }

  /// For each removed entry, the latest time of storing in the records before its removal.
  private var removed: [Entry: Int64] = [:]
  /// The same for a removal of all.
  private var cleared = Int64.min
  private var newest = Int64.min
  /// The entries that were removed because their files were damaged or missing, and not on request, with
  /// the digest of the body; `nil` if the journal has lost which one.
  private var given: [Entry: Digest?] = [:]

  /// Notes an entry that was stored.
  mutating func put(_ head: PutHead) {
    newest = max(newest, head.created.nanoseconds)
    let entry = Entry(hash: head.keyHash, variant: head.variant)
    removed[entry] = nil
    given[entry] = nil
  }

  mutating func remove(_ hash: KeyHash, _ variant: UInt64) {
    removed[Entry(hash: hash, variant: variant)] = newest
    given[Entry(hash: hash, variant: variant)] = nil
  }

  /// Notes an entry that was given up as damaged. It may have been found again since, intact.
  mutating func giveUp(_ hash: KeyHash, _ variant: UInt64, _ digest: Digest?) {
    let entry = Entry(hash: hash, variant: variant)
    removed[entry] = newest
    given.updateValue(digest, forKey: entry)
  }

  mutating func clear() {
    given = [:]
    removed = [:]
    cleared = newest
  }

  /// Returns whether the last record of an entry gave it up as damaged, with this body. An older version
  /// of it was replaced before.
  func haveGivenUp(_ hash: KeyHash, _ variant: UInt64, _ digest: Digest) -> Bool {
    given[Entry(hash: hash, variant: variant)].map { $0 == nil || $0 == digest } ?? false
  }

  /// Returns whether an entry that was stored at a time was removed later. An entry that was stored
  /// again after its removal is another one, also if its record is lost.
  func cover(_ hash: KeyHash, _ variant: UInt64, _ digest: Digest, created: Timestamp) -> Bool {
    !haveGivenUp(hash, variant, digest)
      && created.nanoseconds <= max(cleared, removed[Entry(hash: hash, variant: variant)] ?? .min)
  }
}
