internal import CacheFormat
package import CacheSystem
internal import Synchronization

// What the file `lock` says of the end of the journal.
extension Store {
  /// How far the journal has to go; nil where nothing tells.
  ///
  /// - Parameter boot: the name of this run of the machine.
  package static func markedEnd(
    _ lock: borrowing Descriptor, hashSeed: UInt64, _ fileSystem: any FileSystem,
    boot: [UInt8]? = BootName.current
  ) -> UInt64? {
    guard let bytes = try? fileSystem.readBytes(lock, count: ClosingMark.count, at: 0),
      let mark = ClosingMark(decoding: bytes, hashSeed: hashSeed),
      mark.boot == nil || mark.boot == number(ofBoot: boot)
    else { return nil }
    return mark.sequence
  }

  /// The name of a run of the machine, as marks have it.
  private static func number(ofBoot name: [UInt8]?) -> UInt64? {
    name.map { max(1, Checksum.of($0)) }
  }

  /// At opening: a journal that ends before its mark has been cut since, and the tree decides. One that
  /// goes on after its mark, or whose mark is from another run of the machine, was not closed, or the
  /// power may have failed since: tree and journal are compared.
  func holdAgainstMark(_ state: inout StoreState) throws(StoreError) {
    let end = place.lock.withFile {
      Self.markedEnd($0, hashSeed: hashSeed, fileSystem, boot: bootName)
    }
    state.openedSequence = state.sequence
    state.endedAsMarked =
      state.sequence == 0 ? !hasEntries(state.entries) : end == state.sequence
    guard let end, end > state.sequence else { return }
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
      let boot = durability == .full ? nil : Self.number(ofBoot: bootName)
      if durability != .full && boot == nil { return }
      let mark = ClosingMark(sequence: sequence, boot: boot).encoded(hashSeed: hashSeed)
      if place.lock.mark != mark { try? place.lock.write(mark, of: place, clock) }
    }
  }
}
