internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The opening of a store: reads the journal, and finds out how the store was left.
///
/// After a restart of the machine without a clean end, the newest segment may lack what was not
/// synced: records, and bodies whose records are there (`JournalOpening+Unsynced`).
struct JournalOpening: ReaderUser {
  let writer: JournalWriter
  var reader: JournalReader { writer.reader }
  private var isReadOnly: Bool { place.isReadOnly }
  private var isSupervised: Bool { place.isSupervised }

  init(_ writer: JournalWriter) { self.writer = writer }

  /// Reads the journal, and begins one if there is none.
  ///
  /// - Returns: the work of the upkeep.
  func run() throws(StoreError) -> Set<UpkeepWork> {
    var work: Set<UpkeepWork> =
      isReadOnly
      ? []
      : try journal.withLock { () throws(StoreError) in
        try openLocked()
      }
    // Without locks, which others would take for those of processes.
    if isReadOnly { _ = try load(afterRestart: tree.staging.sessionBoots().earlier) }
    reader.state.withLock { state in
      state.isOpened = true
      state.journal.setOpened()
      if state.journal.current == nil && tree.hasKeys(in: state.entries) {
        state.journal.setPartial()
      }
      if !state.isComplete { work.insert(.reconcile) }
      if state.wantsCompaction || state.journal.hasDroppedFiles { work.insert(.compact) }
    }
    if !isReadOnly && !isSupervised && reader.state.withLock({ $0.journal.current == nil }) {
      writer.beginJournal()
    }
    return work
  }

  /// Reads the journal, and finds out whether the store was closed. The caller holds the journal's
  /// lock.
  private func openLocked() throws(StoreError) -> Set<UpkeepWork> {
    var mayHaveRestarted = try mayHaveRestarted()
    let endedAsMarked = try load(afterRestart: mayHaveRestarted)
    let marked = mayHaveRestarted ? nil : try endUsedSince()
    if marked != nil {
      mayHaveRestarted = true
      reader.state.withLock { state in
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
    if !isSupervised { try? writer.completeClear() }
    if !dead.isEmpty { reader.state.withLock { $0.endedUncleanly = true } }
    if reader.state.withLock({ $0.endedUncleanly }) { return [.reconcile] }
    try reader.state.withLock { state throws(StoreError) in
      // No process was killed while it was writing, so the end of the journal has been damaged.
      guard state.journal.tornBytes > 0 else { return }
      if state.journal.isWhole { try reader.noteRemovals(&state) }
      state.journal.noteDamage()
    }
    // While another process has the store open, the journal has no mark. A mark of this run of the
    // machine that the journal does not reach means damage; without one, the power may have failed.
    let isUnmarked = reader.state.withLock { state in
      !endedAsMarked && (state.journal.isWhole || journal.markedEnd == nil)
    }
    guard isUnmarked, try !tree.staging.hasLiveSessions() else { return [] }
    reader.state.withLock { $0.endedUncleanly = true }
    return [.reconcile]
  }

  /// Returns the sessions of processes that are gone. The caller holds the journal's lock.
  ///
  /// Bytes after the last record may be those of a process that is just ending: its lock of the
  /// journal was free before that of its session.
  private func deadSessionsAtOpening() throws(StoreError) -> [PathName] {
    let dead = try tree.staging.deadSessions()
    let isTorn = reader.state.withLock { $0.journal.tornBytes > 0 }
    guard dead.isEmpty, isTorn, try tree.staging.hasLiveSessions() else { return dead }
    _ = try writer.upkeep.awaitMoment { () throws(StoreError) in
      try !tree.staging.deadSessions().isEmpty
    }
    return try tree.staging.deadSessions()
  }

  /// Makes the next segment one that may have bodies, unless a process that may not know them has the
  /// store open. The caller holds the journal's lock.
  private func beginFormat2() throws(StoreError) {
    guard journal.settlingDelay > 0, !isSupervised else { return }
    let (hasBegun, carriesBodies) = reader.state.withLock {
      ($0.journal.current != nil, $0.journal.carriesBodies)
    }
    if carriesBodies { return }
    if try tree.staging.hasLiveSessions() { return }
    journal.version.store(2, ordering: .relaxed)
    if hasBegun { journal.rollsNext.store(true, ordering: .relaxed) }
  }

  /// - Returns: whether the journal ends as its closing mark says.
  private func load(afterRestart hasRestarted: Bool) throws(StoreError) -> Bool {
    // The sessions are read only after a restart.
    let isUsedSince = hasRestarted ? try tree.staging.sessionBoots().this : false
    // Before the journal: a read-only store holds no lock, and others may go on.
    let marked = journal.markedEnd
    return try reader.state.withLock { state throws(StoreError) in
      // A number that was left out before the restart is damage.
      state.journal.hasRestarted = isUsedSince
      try reader.load(&state)
      state.journal.hasRestarted = hasRestarted
      return try hold(&state, against: marked)
    }
  }

  /// Compares the end of the journal with the mark, when the store is opened. A journal that ends
  /// before its mark was cut off, so the tree decides. If the journal ends after its mark, or the
  /// mark is from another run of the machine, the store was not closed, or the power may have
  /// failed: then tree and journal are compared.
  ///
  /// - Returns: whether they agree, also if the end cannot be read.
  private func hold(
    _ state: inout StoreState, against end: UInt64?
  ) throws(StoreError) -> Bool {
    let sequence = state.journal.sequence
    state.journal.openedSequence = sequence
    // Where the journal ends is not known before it was read.
    if state.journal.unread != nil { return true }
    guard let end, end > sequence else {
      return sequence == 0 ? !tree.hasKeys(in: state.entries) : end == sequence
    }
    if state.journal.isWhole { try reader.noteRemovals(&state) }
    state.journal.noteDamage()
    // The next record leaves a gap, so that processes that read the journal before it is written
    // anew notice the damage.
    state.journal.sequence = end
    return false
  }
}
