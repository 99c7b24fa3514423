internal import CacheFormat
package import CacheSystem
internal import Synchronization

// What the file `lock` says of the end of the journal.
extension Store {
  /// This run of the machine, as marks name it.
  private static let boot = BootName.current.map { max(1, Checksum.of($0)) }

  /// How far the journal has to go; nil where nothing tells.
  package static func markedEnd(
    _ lock: borrowing Descriptor, hashSeed: UInt64, _ fileSystem: any FileSystem
  ) -> UInt64? {
    guard let bytes = try? fileSystem.readBytes(lock, count: ClosingMark.count, at: 0),
      let mark = ClosingMark(decoding: bytes, hashSeed: hashSeed),
      mark.boot == nil || mark.boot == boot
    else { return nil }
    return mark.sequence
  }

  /// At opening: a journal that ends before its mark has been cut since, and the tree decides.
  func holdAgainstMark(_ state: inout StoreState) throws(StoreError) {
    guard let end = Self.markedEnd(place.lock, hashSeed: hashSeed, fileSystem),
      end > state.sequence
    else { return }
    if state.isJournalWhole { try noteRemovals(&state) }
    state.isJournalWhole = false
    state.journalDamages += 1
    // The next record leaves a gap, for all who read it before the journal is written anew.
    state.sequence = end
  }

  /// At closing: notes how far the journal goes. Without a mark, a cut between two records is not
  /// seen; so what fails here does no harm.
  func markEnd() {
    _ = try? withJournalLock { () throws(StoreError) in
      let (sequence, end) = state.withLock { state in
        follow(&state)
        return (
          state.isJournalWhole ? state.sequence : 0,
          state.current.map { AppendedPlace(segment: $0, end: state.position) }
        )
      }
      guard sequence > 0, let end else { return }
      // The mark may survive a loss of power that the records before it do not.
      try syncJournal(end)
      let boot = durability == .full ? nil : Self.boot
      if durability != .full && boot == nil { return }
      let mark = ClosingMark(sequence: sequence, boot: boot).encoded(hashSeed: hashSeed)
      let old = try? fileSystem.readBytes(place.lock, count: ClosingMark.count, at: 0)
      if old != mark { try? fileSystem.write(place.lock, mark, at: 0) }
    }
  }
}
