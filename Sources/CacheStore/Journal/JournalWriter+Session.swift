internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// The session of this process, and the closing mark in the file `lock`: the last sequence number when
// the store was closed.
extension JournalWriter {
  /// Makes sure that this process has a session if the journal may have bodies. If it is killed while
  /// it appends, the session shows that the bytes after the last record were never promised. Without
  /// one they would be damage, and the entries before them doubtful. The caller holds the journal's
  /// lock.
  func beginSession() throws(StoreError) {
    if tree.staging.session == nil, segmentVersion > 1 { _ = try makeSession() }
  }

  /// Makes the session of this process, which ends when nothing is changed any more. The caller holds the
  /// journal's lock.
  ///
  /// What a loss of power has left at the end of the journal is cut off before: beside a living session,
  /// others would take it for damage.
  func makeSession() throws(StoreError) -> Session {
    if reader.state.withLock({ $0.journal.refusedCut != nil }) { try cutTornTailLocked() }
    if let session = tree.staging.session { return session }
    return try makeSessionAsIs()
  }

  /// Makes the session of this process, whatever the end of the journal. The caller holds the journal's lock.
  func makeSessionAsIs() throws(StoreError) -> Session {
    try place.showDurability()
    let session = try tree.staging.makeSession()
    upkeep.requestRest()
    return session
  }

  /// Returns the session of this process. It is made before the first write.
  package func ownSession() throws(StoreError) -> Session {
    if let session = tree.staging.session { return session }
    if place.isReadOnly { throw .readOnly(path) }
    return try journal.withLock { () throws(StoreError) -> Session in
      if let session = tree.staging.session { return session }
      // A session that is made after the store was closed would never end.
      try reader.state.withLock { state throws(StoreError) in try state.checkOpen(path) }
      return try makeSession()
    }
  }

  /// Ends the session of this process if it is not used any more, and nothing was appended since the last
  /// call. If the process is killed then, the next opening need not compare tree and journal. Does nothing
  /// with full durability, because the next session would cost a sync.
  ///
  /// - Returns: false if it has to be tried again; true also if the next opening has to compare them anyway.
  func rest() -> Bool {
    if tree.durability == .full || tree.staging.session == nil || tree.staging.isUnclean {
      return true
    }
    let (sequence, mayRest) = reader.withCurrentState { ($0.journal.sequence, $0.mayRest) }
    if !mayRest { return true }
    guard sequence == restSequence.exchange(sequence, ordering: .relaxed) else { return false }
    // Without the lock of the journal, because it may take long.
    tree.staging.sweepReplaced()
    let isDone = try? journal.withLock { () throws(StoreError) -> Bool in
      // What a killed process has left.
      try cutTornTailLocked()
      guard reader.state.withLock({ $0.mayRest && $0.journal.sequence == sequence })
      else { return false }
      try markEndLocked()
      return tree.staging.endUnusedSession()
    }
    return isDone ?? false
  }

  /// Writes the mark, when the store is closed. Errors are ignored: without a mark, only a cut
  /// exactly between two records is not noticed.
  func markEnd() {
    _ = try? journal.withLock { () throws(StoreError) in
      do throws(StoreError) { try markEndLocked() } catch { try showFailedSyncLocked() }
    }
  }

  /// Does the same, for a caller that holds the journal's lock.
  ///
  /// - Throws: the error of the sync, before the mark is written.
  func markEndLocked() throws(StoreError) {
    let (sequence, end) = reader.withCurrentState { state in
      let isKnown = state.isIndexWhole && !state.journal.hasUnsynced
      return (isKnown ? state.journal.sequence : 0, state.journal.end)
    }
    guard sequence > 0, let end else { return }
    if tree.durability == .full { try syncJournalLocked(end) }
    journal.markEnd(sequence)
  }
}

extension StoreState {
  /// Whether nothing has to be compared, so that the store may look closed.
  fileprivate var mayRest: Bool {
    !endedUncleanly && isIndexWhole && !journal.hasUnsynced && !isClosed
  }
}
