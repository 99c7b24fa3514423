package import CacheFormat
internal import CacheSystem
internal import Synchronization

// The present `entries` directory, and its shards. `removeAll` puts another directory in its place.
extension Catalog {
  /// Runs `body` while the shard of a key in the present `entries` directory is locked.
  package func withShard<R>(
    of hash: KeyHash, _ body: (borrowing Shard) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    // If the store is closed or rests meanwhile, the session stays until the files have their names. On a
    // full disk there may be none.
    let session = try? ownSession()
    defer { withExtendedLifetime(session) {} }
    return try tree.withLocked(try lockShard(of: hash), body)
  }

  private func lockShard(of hash: KeyHash) throws(StoreError) -> Shard {
    while true {
      let entries = try state.withLock { state throws(StoreError) in
        follow(&state)
        try check(state)
        return state.entries
      }
      do throws(StoreError) {
        return try tree.lockShard(of: hash, in: entries)
      } catch {
        if !isRemoval(error, of: entries) { throw error }
      }
    }
  }

  /// Returns whether an error occurred because somebody else removed all entries, and with them
  /// their directory.
  func isRemoval(_ error: StoreError, of entries: EntriesDirectory) -> Bool {
    if isOutdated(entries) { return true }
    guard error.code == .notFound else { return false }
    // The other process may have moved the directory, and not yet have appended its record.
    return (try? confirmEntries()) == false || isOutdated(entries)
  }

  /// Compares the open `entries` directory with the one in the store, and opens the latter if they
  /// differ. They can differ if the new directory could not be opened when the journal reported
  /// that all entries were removed.
  ///
  /// - Returns: whether they were the same.
  @discardableResult
  package func confirmEntries() throws(StoreError) -> Bool {
    // Under the lock, because `removeAll` moves the directory before it appends its record.
    try journal.withLock { () throws(StoreError) in
      state.withLock { state in
        follow(&state)
        return !reopenMovedEntries(&state)
      }
    }
  }

  /// Opens the `entries` directory in the store if it is not the open one.
  ///
  /// - Returns: whether it was another one.
  func reopenMovedEntries(_ state: inout StoreState) -> Bool {
    guard hasMovedEntries(state) else { return false }
    reopenEntries(&state)
    return true
  }

  /// Returns whether the open `entries` directory is not the one in the store.
  private func hasMovedEntries(_ state: borrowing StoreState) -> Bool {
    guard let present = try? fileSystem.status(at: Layout.entries, in: place.root.raw),
      let open = try? fileSystem.status(of: state.entries.directory.raw)
    else { return false }
    return present.fileNumber != open.fileNumber
  }

  /// Moves the `entries` directory away and appends the record that all entries are removed. The caller
  /// holds the journal's lock.
  func clearLocked(movingTo session: Session) throws(StoreError) -> AppendedPlace? {
    // A removal that was interrupted before is completed first.
    _ = try appendLocked { _ throws(StoreError) in [] }
    // If this process is killed between the two steps, the others notice it by this file, and append
    // the record before they append anything else.
    try replaceLock()
    let away = Staging.nameOfMoved(after: state.withLock { $0.journal.sequence }, session)
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
    if state.withLock({ $0.journal.clearLockNumber == number }) { return }
    let end = try state.withLock { state throws(StoreError) in
      follow(&state)
      followUnsealed(&state, number)
      try check(state)
      return state.journal.sequence
    }
    let moved = try tree.staging.movedEntries(after: end)
    if moved != nil || !isIndexWhole { try tree.makeEntries() }
    if let moved {
      if moved > end {
        // A loss of power has taken records before the removal. What is stored from now on gets higher
        // numbers than they had, and so is not removed with them.
        try noteLostRecords(through: moved)
        upkeep.request(.reconcile)
      } else if isIndexWhole {
        // Of a damaged journal it is not known whether the record is missing.
        try appendClear()
      }
    }
    try state.withLock { state throws(StoreError) in
      // A journal that is not whole gets no record that would make this process open it. What is stored
      // in a directory that was moved away is removed.
      if reopenMovedEntries(&state), hasMovedEntries(state) {
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
    state.withLock { $0.journal.clearLockNumber = number }
    do throws(StoreError) {
      let end = try appendLocked { state throws(StoreError) -> [[UInt8]] in
        [ClearRecord.bytes] + (state.limits == .none ? [] : [state.limits.record.bytes])
      }
      // If the new directory could not be opened, the next append tries that again: what is stored in
      // the old one is removed with it.
      state.withLock { if hasMovedEntries($0) { $0.journal.clearLockNumber = 0 } }
      return end
    } catch {
      state.withLock { $0.journal.clearLockNumber = 0 }
      throw error
    }
  }

  /// Returns whether all entries were removed since `entries` was the present directory.
  package func isOutdated(_ entries: EntriesDirectory) -> Bool {
    state.withLock { state in
      follow(&state)
      return state.entries !== entries
    }
  }

  /// Returns the session of this process. It is made before the first write.
  package func ownSession() throws(StoreError) -> Session {
    if let session = tree.staging.session { return session }
    if isReadOnly { throw .readOnly(path) }
    return try journal.withLock { () throws(StoreError) -> Session in
      if let session = tree.staging.session { return session }
      // A session that is made after the store was closed would never end.
      try state.withLock { state throws(StoreError) in try state.checkOpen(path) }
      return try makeSession()
    }
  }

  /// Ends the session of this process if it is not used any more, and nothing was appended since the last
  /// call. If the process is killed then, the next opening need not compare tree and journal.
  ///
  /// - Returns: false if it has to be tried again; true also if the next opening has to compare them anyway.
  func rest() -> Bool {
    if tree.staging.session == nil || tree.staging.isUnclean { return true }
    let (sequence, mayRest) = state.withLock { state in
      follow(&state)
      return (state.journal.sequence, state.mayRest)
    }
    if !mayRest { return true }
    guard sequence == restSequence.exchange(sequence, ordering: .relaxed) else { return false }
    // Without the lock of the journal, because it may take long.
    tree.staging.sweepReplaced()
    let isDone = try? journal.withLock { () throws(StoreError) -> Bool in
      // What a killed process has left.
      try cutTornTailLocked()
      guard state.withLock({ $0.mayRest && $0.journal.sequence == sequence }) else { return false }
      try markEndLocked()
      return tree.staging.endUnusedSession()
    }
    return isDone ?? false
  }
}

extension StoreState {
  /// Whether nothing has to be compared, so that the store may look closed.
  fileprivate var mayRest: Bool { !endedUncleanly && journal.isWhole && !isClosed }
}
