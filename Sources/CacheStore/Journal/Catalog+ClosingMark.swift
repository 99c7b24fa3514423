internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// What the file `lock` says of the end of the journal.
extension Catalog {
  /// At opening: a journal that ends before its mark has been cut since, and the tree decides. One that
  /// goes on after its mark, or whose mark is from another run of the machine, was not closed, or the
  /// power may have failed since: tree and journal are compared.
  func holdAgainstMark(_ state: inout StoreState) throws(StoreError) {
    let end = journal.markedEnd
    state.journal.openedSequence = state.journal.sequence
    state.journal.endedAsMarked =
      state.journal.sequence == 0 ? !tree.hasKeys(in: state.entries) : end == state.journal.sequence
    guard let end, end > state.journal.sequence else { return }
    if state.journal.isWhole { try noteRemovals(&state) }
    state.journal.noteDamage()
    // The next record leaves a gap, for all who read it before the journal is written anew.
    state.journal.sequence = end
  }

  /// At closing: notes how far the journal goes. Without a mark, a cut between two records is not
  /// seen; so what fails here does no harm.
  func markEnd() {
    _ = try? journal.withLock { () throws(StoreError) in
      let (sequence, end) = state.withLock { state in
        follow(&state)
        return (
          state.journal.isWhole ? state.journal.sequence : 0,
          state.journal.current.map { AppendedPlace(segment: $0, end: state.journal.position) }
        )
      }
      guard sequence > 0, let end else { return }
      try syncJournal(end)
      journal.markEnd(sequence)
    }
  }
}
