internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Opening and closing.
extension Catalog {
  /// Reads the journal, and begins one if there is none.
  ///
  /// - Returns: the work of the upkeep.
  func open() throws(StoreError) -> UpkeepWork {
    var work: UpkeepWork =
      isReadOnly
      ? []
      : try journal.withLock { () throws(StoreError) in
        try openLocked()
      }
    // Without locks, which others would take for those of processes.
    if isReadOnly { try load(afterRestart: tree.staging.sessionBoots().earlier) }
    if !isReadOnly, hasUnwrittenFiles { work.insert(.compact) }
    state.withLock { state in
      state.isOpened = true
      state.journal.setOpened()
      if state.journal.current == nil && tree.hasKeys(in: state.entries) {
        state.journal.isWhole = false
      }
      state.isComplete = state.journal.isWhole
      if !state.isComplete { work.insert(.reconcile) }
      if wantsCompaction(state) || state.journal.hasDroppedFiles { work.insert(.compact) }
    }
    if !isReadOnly && !isSupervised && state.withLock({ $0.journal.current == nil }) {
      beginJournal()
    }
    return work
  }

  /// Reads the journal, and finds out whether the store was closed. The caller holds the journal's
  /// lock.
  private func openLocked() throws(StoreError) -> UpkeepWork {
    var mayHaveRestarted = try mayHaveRestarted()
    try load(afterRestart: mayHaveRestarted)
    let marked = mayHaveRestarted ? nil : try endUsedSince()
    if marked != nil {
      mayHaveRestarted = true
      state.withLock { state in
        state.journal.hasRestarted = true
        state.endedUncleanly = true
      }
    }
    // A killed process may have left an incomplete segment.
    try? fileSystem.removeFile(Layout.newSegment, in: place.journal.raw)
    // Or an incomplete copy of `lock`. A checker reports it.
    if !isSupervised { try? fileSystem.removeFile(Layout.newDescription, in: place.root.raw) }
    let dead = try deadSessionsAtOpening()
    tree.staging.noteDeadAtOpening(dead)
    if mayHaveRestarted { try cutUnsynced(after: marked) }
    try beginFormat2()
    // If that fails, on a full disk for example, the first record does it.
    if !isSupervised { try? completeClear() }
    if !dead.isEmpty { state.withLock { $0.endedUncleanly = true } }
    if state.withLock({ $0.endedUncleanly }) { return .reconcile }
    try state.withLock { state throws(StoreError) in
      // No process was killed while it was writing, so the end of the journal has been damaged.
      guard state.journal.tornBytes > 0 else { return }
      if state.journal.isWhole { try noteRemovals(&state) }
      state.journal.noteDamage()
    }
    // While another process has the store open, the journal has no mark. A mark of this run of the
    // machine that the journal does not reach means damage; without one, the power may have failed.
    let isUnmarked = state.withLock { state in
      !state.journal.endedAsMarked && (state.journal.isWhole || journal.markedEnd == nil)
    }
    guard isUnmarked, try !tree.staging.hasLiveSessions() else { return [] }
    state.withLock { $0.endedUncleanly = true }
    return .reconcile
  }

  /// Returns the sessions of processes that are gone. The caller holds the journal's lock.
  ///
  /// Bytes after the last record may be those of a process that is just ending: its lock of the
  /// journal was free before that of its session.
  private func deadSessionsAtOpening() throws(StoreError) -> [PathName] {
    let dead = try tree.staging.deadSessions()
    let isTorn = state.withLock { $0.journal.tornBytes > 0 }
    guard dead.isEmpty, isTorn, try tree.staging.hasLiveSessions() else { return dead }
    _ = try upkeep.awaitMoment { () throws(StoreError) in
      try !tree.staging.deadSessions().isEmpty
    }
    return try tree.staging.deadSessions()
  }

  /// Makes the next segment one that may have bodies, unless a process that may not know them has the
  /// store open. The caller holds the journal's lock.
  private func beginFormat2() throws(StoreError) {
    guard settlingDelay > 0, !isSupervised else { return }
    let (hasBegun, carriesBodies) = state.withLock {
      ($0.journal.current != nil, $0.journal.carriesBodies)
    }
    if carriesBodies { return }
    if try tree.staging.hasLiveSessions() { return }
    journal.version.store(2, ordering: .relaxed)
    if hasBegun { journal.rollsNext.store(true, ordering: .relaxed) }
  }

  /// Makes the next record one in a segment that may have bodies. Called for a metadata file with a
  /// body, which no program writes that does not know such segments.
  func requireFormat2() {
    journal.version.store(2, ordering: .relaxed)
    let isOld = state.withLock { $0.journal.current != nil && !$0.journal.carriesBodies }
    if isOld { journal.rollsNext.store(true, ordering: .relaxed) }
  }

  private func load(afterRestart hasRestarted: Bool) throws(StoreError) {
    // The sessions are read only after a restart.
    let isUsedSince = hasRestarted ? try tree.staging.sessionBoots().this : false
    try state.withLock { state throws(StoreError) in
      // A number that was left out before the restart is damage.
      state.journal.hasRestarted = isUsedSince
      try load(&state)
      state.journal.hasRestarted = hasRestarted
      try holdAgainstMark(&state)
    }
  }

  // MARK: Closing

  /// Begins to close the store; calls of other threads still succeed.
  ///
  /// - Returns: whether the store belongs to a newer program, so that nothing is written any more;
  ///   `nil` if the store is closed already, or another thread closes it.
  func beginClosing() -> Bool? {
    state.withLock { state in
      if state.isClosing || state.isClosed && state.refusal == nil { return nil }
      state.isClosing = true
      return state.refusal != nil
    }
  }

  /// Makes all further calls fail.
  func endClosing() { state.withLock { $0.isClosed = true } }

  /// Whether the journal is to be written anew at closing: it was begun a day ago or more, has
  /// records of removals, and is short. Such records are kept for a day, because a loss of power
  /// may bring the removed files back.
  var isPurgeDue: Bool {
    if isSupervised { return false }
    return state.withLock { state in
      guard state.journal.hasRemoved, state.journal.bytes.live < Self.quickPurgeBytes,
        let first = state.journal.first
      else { return false }
      // Damage may have made any time.
      let (age, isFar) = clock.now().subtractingReportingOverflow(first.segment.created.nanoseconds)
      return isFar || age > Self.purgeAgeNanoseconds
    }
  }

  /// The live bytes up to which a journal is written anew at closing.
  private static var quickPurgeBytes: Int64 { 16 << 20 }
  private static var purgeAgeNanoseconds: Int64 { 86_400_000_000_000 }
}
