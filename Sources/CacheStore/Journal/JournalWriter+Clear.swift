internal import CacheFormat
internal import CacheSystem

// The removal of all entries: the directory `entries` is moved away, and another one made.
extension JournalWriter {
  /// Moves the `entries` directory away and appends the record that all entries are removed. The caller
  /// holds the journal's lock.
  func clearLocked(movingTo session: Session) throws(StoreError) -> AppendedPlace? {
    // A removal that was interrupted before is completed first.
    try completeClear()
    // If a segment has to be begun, the record of that comes before the number in the name.
    _ = try withSegment { _ throws(StoreError) in () }
    // If this process is killed between the two steps, the others notice it by this file, and append
    // the record before they append anything else.
    try replaceLock()
    let away = Staging.nameOfMoved(after: reader.state.withLock { $0.journal.sequence }, session)
    do throws(StoreError) {
      try tree.moveEntries(to: away, of: session)
      return try appendClear()
    } catch {
      tree.moveEntriesBack(from: away, of: session)
      throw error
    }
  }

  /// Completes a removal of all entries that a kill has interrupted: appends its record. So nothing is
  /// stored in the directory that it has moved away, and nothing that is stored later is removed.
  ///
  /// Looks for one when the store is opened, and after the file `lock` was replaced. The caller holds
  /// the journal's lock.
  func completeClear() throws(StoreError) {
    let number = place.lock.number
    if reader.state.withLock({ $0.journal.clearLockNumber == number }) { return }
    let end = try reader.withCurrentState { state throws(StoreError) in
      reader.followUnsealed(&state, number)
      try reader.check(state)
      return state.journal.sequence
    }
    let moved = try tree.staging.movedEntries(after: end)
    if moved != nil || !reader.state.withLock({ $0.isIndexWhole }) { try tree.makeEntries() }
    if let moved {
      if moved > end {
        // A loss of power has taken records before the removal. What is stored from now on gets higher
        // numbers than they had, and so is not removed with them.
        try noteLostRecords(through: moved)
        upkeep.request(.reconcile)
      } else if reader.state.withLock({ $0.isIndexWhole }) {
        // Of a damaged journal it is not known whether the record is missing.
        try appendClear()
      }
    }
    try reader.state.withLock { state throws(StoreError) in
      // A journal that is not whole gets no record that would make this process open it. What is stored
      // in a directory that was moved away is removed.
      if reader.reopenMovedEntries(&state), reader.hasMovedEntries(state) {
        state.journal.clearLockNumber = 0
        throw StoreError(
          .inputOutput, path: "\(path)/entries", cause: "the directory cannot be opened now",
          remedy: "try again")
      }
      state.journal.clearLockNumber = number
    }
  }

  /// Takes the journal's lock and does the same. For a checker.
  package func completeRemovalOfAll() throws(StoreError) {
    try journal.withLock { () throws(StoreError) in try completeClear() }
  }

  @discardableResult
  private func appendClear() throws(StoreError) -> AppendedPlace? {
    // Also if this fails, the next append looks for the removal.
    let number = place.lock.number
    reader.state.withLock { $0.journal.clearLockNumber = number }
    do throws(StoreError) {
      let end = try appendLocked { state throws(StoreError) -> [[UInt8]] in
        (state.limits == .none ? [] : [state.limits.record.bytes]) + [ClearRecord.bytes]
      }
      // If the new directory could not be opened, the next append tries that again: what is stored in
      // the old one is removed with it.
      reader.state.withLock { if reader.hasMovedEntries($0) { $0.journal.clearLockNumber = 0 } }
      return end
    } catch {
      reader.state.withLock { $0.journal.clearLockNumber = 0 }
      throw error
    }
  }
}
