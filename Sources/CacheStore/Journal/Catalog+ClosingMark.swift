internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// The closing mark in the file `lock`: the last sequence number when the store was closed.
extension Catalog {
  /// Compares the end of the journal with the mark, when the store is opened. A journal that ends
  /// before its mark was cut off, so the tree decides. If the journal ends after its mark, or the
  /// mark is from another run of the machine, the store was not closed, or the power may have
  /// failed: then tree and journal are compared.
  func holdAgainstMark(_ state: inout StoreState) throws(StoreError) {
    let end = journal.markedEnd
    state.journal.openedSequence = state.journal.sequence
    // Where the journal ends is not known before it was read.
    if state.journal.unread != nil { return }
    state.journal.endedAsMarked =
      state.journal.sequence == 0 ? !tree.hasKeys(in: state.entries) : end == state.journal.sequence
    guard let end, end > state.journal.sequence else { return }
    if state.journal.isWhole { try noteRemovals(&state) }
    state.journal.noteDamage()
    // The next record leaves a gap, so that processes that read the journal before it is written
    // anew notice the damage.
    state.journal.sequence = end
  }

  /// Writes the mark, when the store is closed. Errors are ignored: without a mark, only a cut
  /// exactly between two records is not noticed.
  func markEnd() { _ = try? journal.withLock { () throws(StoreError) in try markEndLocked() } }

  /// Does the same, for a caller that holds the journal's lock.
  ///
  /// - Throws: the error of the sync, before the mark is written.
  func markEndLocked() throws(StoreError) {
    let (sequence, end) = state.withLock { state in
      follow(&state)
      let isKnown = state.journal.isWhole && state.journal.unread == nil
      return (isKnown ? state.journal.sequence : 0, state.journal.end)
    }
    guard sequence > 0, let end else { return }
    try syncJournal(end)
    journal.markEnd(sequence)
  }
}
