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

  private struct Body: Hashable {
    var hash: KeyHash
    var digest: Digest
  }

  /// For each removed entry, the sequence number of its remove record.
  private var removed: [Entry: UInt64] = [:]
  /// The number of the last record that removed all; 0 before the first.
  private var cleared: UInt64 = 0
  /// The entries that were removed because their files were damaged or missing, and not on request, with
  /// the digest of the body; `nil` if the journal has lost which one.
  private var given: [Entry: Digest?] = [:]
  /// The bodies of entries that were removed on request or by a limit, or were replaced.
  private var bodies: Set<Body> = []

  /// Notes an entry that was stored.
  ///
  /// - Parameter old: the digest of the body of the version that it has replaced.
  mutating func put(_ head: PutHead, replacing old: Digest?) {
    let entry = Entry(hash: head.keyHash, variant: head.variant)
    removed[entry] = nil
    given[entry] = nil
    if let old { bodies.insert(Body(hash: head.keyHash, digest: old)) }
    bodies.remove(Body(hash: head.keyHash, digest: head.digest))
  }

  /// Notes an entry that was removed.
  ///
  /// - Parameter digest: that of its body; `nil` if the journal has lost which one it was.
  mutating func remove(
    _ hash: KeyHash, _ variant: UInt64, _ digest: Digest?, at sequence: UInt64
  ) {
    let entry = Entry(hash: hash, variant: variant)
    removed[entry] = sequence
    given[entry] = nil
    if let digest { bodies.insert(Body(hash: hash, digest: digest)) }
  }

  /// Notes an entry that was given up as damaged. It may have been found again since, intact.
  mutating func giveUp(
    _ hash: KeyHash, _ variant: UInt64, _ digest: Digest?, at sequence: UInt64
  ) {
    let entry = Entry(hash: hash, variant: variant)
    removed[entry] = sequence
    given.updateValue(digest, forKey: entry)
    if let digest { bodies.remove(Body(hash: hash, digest: digest)) }
  }

  mutating func clear(at sequence: UInt64) {
    (given, removed, bodies) = ([:], [:], [])
    cleared = sequence
  }

  /// Returns whether the last record of an entry gave it up as damaged, with this body. An older version
  /// of it was replaced before.
  func haveGivenUp(_ hash: KeyHash, _ variant: UInt64, _ digest: Digest) -> Bool {
    given[Entry(hash: hash, variant: variant)].map { $0 == nil || $0 == digest } ?? false
  }

  /// Returns whether an entry of a key that had this body was removed on request or by a limit, or was
  /// replaced.
  func haveRemoved(_ body: Digest, of hash: KeyHash) -> Bool {
    bodies.contains(Body(hash: hash, digest: body))
  }

  /// Returns whether the entry of a metadata file was removed after the file was written. An entry that
  /// was stored again after its removal is another one, also if its record is lost.
  ///
  /// - Parameter sequence: that of the file, which is the lowest that its record can have.
  func cover(
    _ hash: KeyHash, _ variant: UInt64, _ digest: Digest, writtenAt sequence: UInt64?
  ) -> Bool {
    guard let sequence, !haveGivenUp(hash, variant, digest) else { return false }
    return sequence <= max(cleared, removed[Entry(hash: hash, variant: variant)] ?? 0)
  }
}
