internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Compaction: the oldest segment's records that still count are appended again, then its file is
// dropped. Each step is small, others append in between, and a crash at any point leaves a journal
// that says the same.
extension Catalog {
  /// Whether dead records take so much room that compaction is due.
  func wantsCompaction(_ state: borrowing StoreState) -> Bool {
    let all = state.journal.bytes.all
    return state.journal.isWhole && all >= state.journal.compactsFrom
      && journalBudget(state).isDue(all)
  }

  /// Keeps the journal within its budget. Called after each append that is not compaction's own: the
  /// background does the work, unless it cannot keep up; then the caller does it.
  ///
  /// The caller holds no lock.
  func tendJournal() {
    if isReadOnly || isSupervised { return }
    let (isDue, isOverdue) = state.withLock { state -> (Bool, Bool) in
      let isDue = wantsCompaction(state)
      return (isDue, isDue && journalBudget(state).isOverdue(state.journal.bytes.all))
    }
    if isOverdue {
      compact(isWaiting: true)
    } else if isDue {
      upkeep.request(.compact)
    }
  }

  /// Drops segments until few dead records are left.
  ///
  /// Only what the index knows is copied. So a journal that could not be read everywhere is left to
  /// `reconcile`, which takes up what the tree has first.
  ///
  /// - Parameter isWaiting: waits for another thread or process that compacts, instead of leaving it
  ///   the work.
  func compact(isWaiting: Bool = false) {
    if state.withLock({ $0.journal.hasDroppedFiles }) { try? removeDropped() }
    if !state.withLock({ wantsCompaction($0) }) { return }
    try? journal.withCompactionLock(isWaiting: isWaiting) { () throws(StoreError) in
      let last = state.withLock { state -> UInt32? in
        follow(&state)
        return wantsCompaction(state) ? state.journal.current?.number : nil
      }
      guard let last else { return }
      while isWaiting || !upkeep.isStopping {
        let isDone = state.withLock { state -> Bool in
          follow(&state)
          return !state.journal.isWhole || state.journal.firstNumber > last
            || journalBudget(state).isCompact(state.journal.bytes.all)
        }
        if isDone { break }
        guard (try? dropOldest()) == true else {
          // A disk that is full, or cannot be read: tried again when some more has been written.
          state.withLock { state in
            let all = state.journal.bytes.all
            state.journal.compactsFrom = all + max(4096, journalBudget(state).dead / 4)
          }
          return
        }
      }
      state.withLock { $0.journal.compactsFrom = 0 }
    }
  }

  /// Writes the journal anew, so that it holds nothing of what was removed or replaced: neither the
  /// keys nor the header fields of entries that are gone. The index has every entry.
  func purge() throws(StoreError) {
    var isPurged = false
    try journal.withCompactionLock(isWaiting: true) { () throws(StoreError) in
      guard let last = state.withLock({ $0.journal.isWhole ? $0.journal.current?.number : 0 })
      else {
        isPurged = true
        return
      }
      if last > 0 { isPurged = try dropSegments(through: last) }
    }
    state.withLock { $0.journal.hasRemoved = $0.journal.hasRemoved && !isPurged }
    if isPurged { return }
    throw StoreError(
      .inputOutput, path: "\(path)/journal", cause: "the journal could not be written anew",
      remedy: "run cachefsck --repair safe, then try again")
  }

  /// Copies what counts of every segment up to the present one, which makes a journal whole that was
  /// damaged. The index knows every entry now.
  func renewJournal() throws(StoreError) {
    guard let last = state.withLock({ $0.journal.current?.number }) else { return }
    let isRenewed = try dropSegments(through: last, untilStopped: true)
    state.withLock { $0.journal.isWhole = isRenewed }
  }

  /// Drops the oldest segments one after the other, up to a number.
  ///
  /// - Parameter untilStopped: whether to give up when the store is closed.
  /// - Returns: whether all of them are gone.
  private func dropSegments(
    through last: UInt32, untilStopped: Bool = false
  ) throws(StoreError) -> Bool {
    while state.withLock({ $0.journal.firstNumber }) <= last {
      if untilStopped && upkeep.isStopping { return false }
      guard try dropOldest() else { return false }
    }
    return true
  }

  /// - Returns: false where it could not be done.
  private func dropOldest() throws(StoreError) -> Bool {
    let (number, isCurrent) = state.withLock {
      ($0.journal.firstNumber, $0.journal.segments.count == 1)
    }
    if isCurrent { journal.rollsNext.store(true, ordering: .relaxed) }
    try copyLive(of: number)
    return try drop(number)
  }

  private func copyLive(of number: UInt32) throws(StoreError) {
    var cursor = SlotCursor()
    var batch: [Located] = []
    var bytes = 0
    // By the index and not by the file: what counts is what the index points to, also where the
    // file is damaged.
    while let located = cursor.next(in: self) {
      for place in located where place.slot.segment == number {
        batch.append(place)
        bytes += Int(place.slot.recordLength)
        if bytes >= journal.sizes.copyBytes {
          try copy(batch)
          (batch, bytes) = ([], 0)
        }
      }
    }
    try copy(batch)
    let limits = try append { state throws(StoreError) -> [[UInt8]] in
      // The limits are few bytes: they go along whenever their segment goes.
      state.limitsSegment <= number && state.limits != .none ? [state.limits.record.bytes] : []
    }
    if let limits { try syncJournal(limits) }
  }

  /// Appends the records of entries again, with their present access times.
  private func copy(_ batch: [Located]) throws(StoreError) {
    var records: [(Located, PutRecord)] = []
    for located in batch {
      // What cannot be read is found by whoever looks for it; the tree has it, too.
      guard let record = (try? readRecord(located)) ?? (try? tree.record(of: located))
      else { continue }
      records.append((located, record))
    }
    if records.isEmpty { return }
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      records.compactMap { located, record in
        guard let number = state.index.find(located.slot.keyHash, located.slot.variant),
          state.index[number].isSameRecord(as: located.slot)
        else { return nil }
        return record.accessed(state.index[number].accessed)
      }
    }
    // Before the segment they come from goes: the drop record may stand in a later segment, whose
    // sync says nothing of this one.
    if let placed { try syncJournal(placed) }
  }

  /// Says in the journal that a segment is not needed, and removes its file.
  private func drop(_ number: UInt32) throws(StoreError) -> Bool {
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      // Nothing may be lost that could not be copied, or is not known.
      guard state.journal.firstNumber == number, state.isComplete,
        state.journal.segments.count > 1 || journal.rollsNext.load(ordering: .relaxed),
        (state.journal.segments.first ?? nil)?.liveBytes ?? 0 <= 0
      else { return [] }
      return [DropRecord.bytes(through: UInt64(number))]
    }
    guard let placed else { return false }
    try syncJournal(placed)
    try removeDropped()
    return true
  }

  /// Removes the files of segments that the journal has dropped, also those that were left by a
  /// process that was killed between the record and this.
  func removeDropped() throws(StoreError) {
    try journal.withLock { () throws(StoreError) in
      let first = state.withLock { state in
        state.journal.hasDroppedFiles = false
        return min(state.journal.firstNumber, state.journal.oldestNeeded)
      }
      try journal.removeSegments(before: first)
    }
  }
}
