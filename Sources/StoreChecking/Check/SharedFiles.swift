internal import CacheFormat
internal import CacheStore
internal import CacheSystem
internal import Synchronization

/// The file of each body that several entries share according to their records, so that an entry
/// with a file of its own is noticed.
final class SharedFiles: Sendable {
  private struct Ring: Hashable {
    let digest: Digest
    let bodyFile: UInt32
    let length: UInt64
  }

  private struct Member {
    var file: FileIdentity
    var hash: KeyHash
    var variant: UInt64
  }

  private let members = Mutex<[Ring: Member]>([:])

  /// Returns the path of the body of an entry that should be the same file, and is not; `nil` if
  /// there is none.
  ///
  /// This works while other processes write, too: a difference is examined again, and the number of
  /// a body file is never used for another one.
  func other(than status: FileStatus, of slot: Slot, in store: CheckedStore) -> [UInt8]? {
    guard let catalog = store.catalog, catalog.sharesFile(slot) else { return nil }
    let ring = Ring(digest: slot.digest, bodyFile: slot.bodyFile, length: slot.length)
    let mine = Member(
      file: status.identity, hash: slot.keyHash, variant: slot.variant)
    let first = members.withLock { members -> Member in
      if let first = members[ring] { return first }
      members[ring] = mine
      return mine
    }
    if first.file == status.identity { return nil }
    if isStill(first, ring, store, catalog) {
      return Array("entries/".utf8) + Layout.bodyPath(first.hash, slot.digest).bytes
    }
    members.withLock { $0[ring] = mine }
    return nil
  }

  /// Returns whether an entry still has the file. The index has to be the same before and after the
  /// query.
  private func isStill(
    _ member: Member, _ ring: Ring, _ store: CheckedStore, _ catalog: Catalog
  ) -> Bool {
    func isMember() -> Bool {
      guard let slot = catalog.settledSlot(member.hash, member.variant) else { return false }
      return slot.digest == ring.digest && slot.bodyFile == ring.bodyFile
        && slot.length == ring.length
    }
    guard isMember(),
      let status = try? store.fileSystem.status(
        at: Layout.bodyPath(member.hash, ring.digest), in: store.entries.directory.raw)
    else { return false }
    return status.identity == member.file && isMember()
  }
}
