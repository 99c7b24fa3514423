internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Compaction: the oldest segment's records that still count are appended again, then its file is
// dropped. Each step is small, others append in between, and a crash at any point leaves a journal
// that says the same.
extension Store {
  /// The journal is left alone below this many bytes: less in a small store, whose entries it would
  /// crowd out.
  private func smallJournalBytes(_ state: borrowing StoreState) -> Int64 {
    guard state.limits.accounting == .allocated, let bytes = state.limits.bytes
    else { return 1 << 20 }
    return Int64(min(bytes / 8, 1 << 20))
  }
  /// The bytes of records that are appended in one go.
  private static var copyBytes: Int { 256 << 10 }

  /// Whether more than half of the journal is dead.
  func wantsCompaction(_ state: borrowing StoreState) -> Bool {
    let journal = state.journalBytes
    return journal.all > smallJournalBytes(state) && journal.all - journal.live > journal.live
  }

  /// Drops segments until less than a quarter is dead.
  func compact() {
    // Before every entry was taken up, what is damaged must not go: it tells that this is to be done.
    guard
      state.withLock({
        ($0.isComplete || $0.isJournalWhole) && (wantsCompaction($0) || !$0.isJournalWhole)
      })
    else { return }
    // One process at a time; the lock is that of the directory.
    guard let turn = try? fileSystem.open(Layout.journal, in: place.root, [.read, .directory]),
      (try? fileSystem.tryLock(turn)) == true
    else { return }
    defer { fileSystem.unlock(turn.raw) }
    while !upkeep.isStopping {
      let isDone = state.withLock { state -> Bool in
        follow(&state)
        let journal = state.journalBytes
        return state.isJournalWhole
          && (journal.all - journal.live) * 4 < journal.all
          || journal.all <= smallJournalBytes(state) && state.isJournalWhole
      }
      if isDone { return }
      guard (try? dropOldest()) == true else { return }
    }
  }

  /// Copies what counts of every segment up to the present one, which makes a journal whole that was
  /// damaged. The index knows every entry now.
  func renewJournal() throws(StoreError) {
    guard let last = state.withLock({ $0.current?.number }) else { return }
    while !upkeep.isStopping, state.withLock({ $0.firstSegment }) <= last {
      guard try dropOldest() else { return }
    }
    state.withLock { $0.isJournalWhole = $0.firstSegment > last }
  }

  /// - Returns: false where it could not be done.
  private func dropOldest() throws(StoreError) -> Bool {
    let (number, isCurrent) = state.withLock { ($0.firstSegment, $0.segments.count == 1) }
    if isCurrent { rollsNext.store(true, ordering: .relaxed) }
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
        if bytes >= Self.copyBytes {
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
    if let limits { try sync(limits) }
  }

  /// Appends the records of entries again, with their present access times.
  private func copy(_ batch: [Located]) throws(StoreError) {
    var records: [(Located, PutRecord)] = []
    for located in batch {
      // What cannot be read is found by whoever looks for it; the tree has it, too.
      guard let record = (try? readRecord(located)) ?? (try? recordFromTree(located))
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
    if let placed { try sync(placed) }
  }

  /// Says in the journal that a segment is not needed, and removes its file.
  private func drop(_ number: UInt32) throws(StoreError) -> Bool {
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      // Nothing may be lost that could not be copied.
      guard state.firstSegment == number,
        state.segments.count > 1 || rollsNext.load(ordering: .relaxed),
        (state.segments.first ?? nil)?.liveBytes ?? 0 <= 0
      else { return [] }
      return [DropRecord.bytes(through: UInt64(number))]
    }
    guard let placed else { return false }
    try sync(placed)
    try withJournalLock { () throws(StoreError) in
      // Also what was left by a process that was killed between the record and this.
      for old in try segmentNumbers() where old <= number {
        try? fileSystem.removeFile(Layout.segment(old), in: place.journal.raw)
      }
    }
    return true
  }
}
