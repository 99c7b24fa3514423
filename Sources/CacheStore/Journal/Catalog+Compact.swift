internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Compaction: the entries that only the oldest segment has are settled, its live records are
// appended again without bodies, and then its file is removed. Each step is small, other threads and
// processes append in between, and a crash at any point leaves a journal with the same content.
extension Catalog {
  /// Returns whether dead records or bodies take so much room that compaction is due.
  func wantsCompaction(_ state: borrowing StoreState) -> Bool {
    let all = state.journal.bytes.all
    let logged = state.journal.bodies.all
    return state.journal.isWhole && all + logged >= state.journal.compactsFrom
      && (journalBudget(state).isDue(all) || logBudget(state).isOverdue(logged))
  }

  /// Returns whether compaction has reached its goal.
  private func isCompact(_ state: borrowing StoreState) -> Bool {
    journalBudget(state).isCompact(state.journal.bytes.all)
      && !logBudget(state).isOverdue(state.journal.bodies.all)
  }

  /// Keeps the journal within its budget. Called after appends that do not belong to compaction.
  /// The background thread does the work, unless it cannot keep up; then the caller does it.
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
  /// Only records to which the index points are copied. So a damaged journal is not compacted:
  /// `reconcile` first recovers the entries of the tree.
  ///
  /// - Parameter isWaiting: whether to wait if another thread or process is compacting, instead of
  ///   leaving the work to it.
  func compact(isWaiting: Bool = false) {
    if state.withLock({ $0.journal.hasDroppedFiles }) { try? removeDropped() }
    try? resolveUnwrittenFiles(isWaiting: isWaiting)
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
          return !state.journal.isWhole || state.journal.firstNumber > last || isCompact(state)
        }
        if isDone { break }
        guard (try? dropOldest()) == true else {
          // The disk is full or cannot be read.
          state.withLock { putOffCompaction(&$0) }
          return
        }
      }
      state.withLock { state in
        state.journal.compactsFrom = 0
        // It did not help: the log has bodies whose files cannot be written, for example.
        if state.journal.isWhole, !isCompact(state) { putOffCompaction(&state) }
      }
    }
  }

  /// Lets compaction be tried again only after more was written.
  private func putOffCompaction(_ state: inout StoreState) {
    let all = state.journal.bytes.all + state.journal.bodies.all
    state.journal.compactsFrom = all + max(4096, journalBudget(state).dead / 4)
  }

  /// Writes the journal anew without the removed and replaced entries. Then it has neither their
  /// keys nor their header fields. The index has every entry.
  func purge() throws(StoreError) {
    try checkReadable()
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

  /// Copies the live records of all segments up to the present one, which makes a damaged journal
  /// whole. The index has every entry now. Nothing is settled, because the caller may hold a shard:
  /// entries that only the log has are copied with their bodies.
  func renewJournal() throws(StoreError) {
    guard let last = state.withLock({ $0.journal.current?.number }) else { return }
    let isRenewed = try dropSegments(through: last, untilStopped: true, settles: false)
    state.withLock { $0.journal.isWhole = isRenewed }
  }

  /// Drops the oldest segments one after the other, up to a number.
  ///
  /// - Parameters:
  ///   - untilStopped: whether to give up when the store is closed.
  ///   - settles: whether their entries are settled first.
  /// - Returns: whether all of them are gone.
  private func dropSegments(
    through last: UInt32, untilStopped: Bool = false, settles: Bool = true
  ) throws(StoreError) -> Bool {
    var tries = 0
    while state.withLock({ $0.journal.firstNumber }) <= last {
      if untilStopped && upkeep.isStopping { return false }
      if try dropOldest(settles: settles) {
        tries = 0
        continue
      }
      // While its records were copied, another thread or process has appended one, or is just about
      // to store or remove one of its entries.
      tries += 1
      if tries == Self.mostTries { return false }
      if tries > 4 { pause(nanoseconds: 2_000_000) }
    }
    return true
  }

  private static var mostTries: Int { 24 }

  /// Copies the live records of the oldest segment, and drops it.
  ///
  /// - Returns: false if it could not be dropped.
  private func dropOldest(settles: Bool = true) throws(StoreError) -> Bool {
    let (number, isCurrent) = state.withLock {
      ($0.journal.firstNumber, $0.journal.segments.count == 1)
    }
    if isCurrent { journal.rollsNext.store(true, ordering: .relaxed) }
    if state.withLock({ $0.journal.hasBodies(number) }) {
      // What cannot be settled now, because the disk is full for example, is copied with its body.
      if settles { _ = try? settleLocked(through: number) }
      // Bodies may have been on disk for an hour in the segment, and for a second as files. So this is
      // done at both levels of durability.
      if settles { try synchronizeSettled() } else { try synchronizeVolume() }
    }
    try copyLive(of: number)
    guard try makeRemovalsDurable(of: number) else { return false }
    return try drop(number)
  }

  private func copyLive(of number: UInt32) throws(StoreError) {
    var cursor = SlotCursor()
    var batch: [Located] = []
    var bytes = 0
    // The index and not the file is searched, so that all records to which it points are found,
    // also if the file is damaged.
    while let located = cursor.next(in: self) {
      for place in located where place.slot.segment == number {
        batch.append(place)
        bytes += place.slot.isUnsettled ? Int(place.slot.recordLength) : place.slot.keptBytes
        if bytes >= journal.sizes.copyBytes {
          try copy(batch)
          (batch, bytes) = ([], 0)
        }
      }
    }
    try copy(batch)
    let limits = try append { state throws(StoreError) -> [[UInt8]] in
      // The record of the limits is short, so it is always copied with its segment.
      state.limitsSegment <= number && state.limits != .none ? [state.limits.record.bytes] : []
    }
    if let limits { try syncJournal(limits) }
  }

  /// Appends the records of entries again, with their present access times.
  private func copy(_ batch: [Located]) throws(StoreError) {
    var records: [(Located, PutRecord, [UInt8]?)] = []
    for located in batch {
      // A record that can be read neither here nor in the tree is not copied. A look-up will find
      // the damage.
      if located.slot.isUnsettled || !located.slot.isEmbedded && mayLackFiles(located),
        let segment = located.segment,
        let (record, body) = try? readWhole(located, in: segment), let body
      {
        records.append((located, record, body))
      } else if located.slot.isUnsettled {
        upkeep.setAside(located.slot)
      } else if located.slot.isEmbedded {
        if let (record, body) = try? readEmbedded(located) {
          records.append((located, record, body))
        }
      } else if let record = (try? readRecord(located)) ?? (try? tree.record(of: located)) {
        records.append((located, record, nil))
      }
    }
    if records.isEmpty { return }
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      records.compactMap { located, record, body in
        guard let number = state.number(of: located.slot) else { return nil }
        let slot = state.index[number]
        guard let body else {
          return record.accessed(
            slot.accessed, bodyFile: UInt64(slot.bodyFile),
            overhead: UInt32(clamping: slot.overhead))
        }
        if slot.isEmbedded && !slot.isUnsettled {
          return record.settled(
            with: body, accessed: slot.accessed, overhead: UInt32(clamping: slot.overhead))
        }
        // Another process has settled it since it was read. The next attempt copies it as it is now.
        if located.slot.isUnsettled && !slot.isUnsettled { return nil }
        let head = record.head
        return record.carrying(
          body,
          at: .init(
            created: head.created, accessed: Timestamp(nanoseconds: slot.accessed),
            isPinned: head.isPinned))
      }
    }
    // The copies are synced before their segment is dropped, because the drop record may be in a
    // later segment, whose sync does not include this one.
    if let placed { try syncJournal(placed) }
  }

  /// Reads the record and the body of a settled entry without a body file, from the journal or from
  /// the metadata file.
  private func readEmbedded(_ located: Located) throws(ReadFailure) -> (PutRecord, [UInt8]) {
    if let (record, body) = try? readWithEmbedded(located), let body { return (record, body) }
    return (try tree.record(of: located), try tree.readBody(located))
  }

  /// Returns whether a record carries the body of an entry that was settled before this process opened
  /// the store, and whose body file is not whole: a loss of power may have taken it.
  private func mayLackFiles(_ located: Located) -> Bool {
    located.slot.carriesBody
      && located.slot.recordPlace < state.withLock { $0.journal.openedPlace }
      && (try? tree.isWholeBody(located)) != true
  }

  /// Appends the record that a segment is no longer needed, and removes its file.
  private func drop(_ number: UInt32) throws(StoreError) -> Bool {
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      // The segment stays if it still has live records, or if the index may lack entries.
      guard state.journal.firstNumber == number, state.isComplete,
        state.journal.segments.count > 1 || journal.rollsNext.load(ordering: .relaxed),
        state.journal.first?.liveBytes ?? 0 <= 0
      else { return [] }
      return [DropRecord.bytes(through: UInt64(number))]
    }
    guard let placed else { return false }
    try syncJournal(placed)
    try removeDropped()
    return true
  }

  /// Removes the files of segments that the journal has dropped, also those that a killed process
  /// has left.
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
