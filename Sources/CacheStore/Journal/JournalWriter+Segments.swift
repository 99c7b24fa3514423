internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// The segment that records are appended to.
extension JournalWriter {
  /// The version of the next segment. It never falls.
  var segmentVersion: UInt32 {
    max(
      journal.version.load(ordering: .relaxed),
      reader.state.withLock { $0.journal.current?.version ?? 1 })
  }

  /// Returns the segment to append to. A torn tail is cut off; if the segment is full, a new one is
  /// begun. The caller holds the journal's lock.
  ///
  /// - Returns: `nil` if nobody would read the records, because the current segment has lost its name, or
  ///   the one after it cannot be opened.
  func writableSegment() throws(StoreError) -> Segment? {
    if reader.state.withLock({ $0.journal.last?.isSealed == true }) { return nil }
    let (current, position, torn) = reader.state.withLock { state in
      (state.journal.current, state.journal.position, state.journal.tornBytes)
    }
    guard let current else {
      let (number, isFirst, isForgotten) = reader.state.withLock { state in
        (state.journal.nextNumber, state.journal.segments.isEmpty, state.journal.needsReload)
      }
      // A thread that reads has found that the journal cannot be read any more.
      if isFirst, isForgotten { return nil }
      // Others may be able to read a segment that is lost here.
      if !isFirst { return try beginWithoutSeal(number) { $0.journal.add($1) } }
      let segment = try makeSegment(number)
      return reader.state.withLock { state in
        // A thread that only reads may have found the file already.
        if let found = state.journal.current { return found }
        state.journal.add(segment)
        return segment
      }
    }
    guard let ready = try withoutTail(current, torn, at: position) else { return nil }
    if ready !== current { return ready }
    let isFull = reader.state.withLock { $0.isSegmentFull }
    if !isFull && !journal.rollsNext.load(ordering: .relaxed) { return current }
    let next = try beginAsked { () throws(StoreError) in try roll(from: current) }
    // If the old segment could not be synced, another one shows that.
    if !journal.rollsNext.load(ordering: .relaxed) { return next }
    return try beginAsked { () throws(StoreError) in try roll(from: next) }
  }

  /// Begins a segment, as it may have been asked for. If that fails, it stays asked for; a sync that fails
  /// meanwhile asks for another one.
  private func beginAsked(
    _ begin: () throws(StoreError) -> Segment
  ) throws(StoreError) -> Segment {
    let wasAsked = journal.rollsNext.exchange(false, ordering: .relaxed)
    do throws(StoreError) { return try begin() } catch {
      if wasAsked { journal.rollsNext.store(true, ordering: .relaxed) }
      throw error
    }
  }

  /// Makes a segment and opens it. If a newer program has begun it, this store is closed.
  func makeSegment(_ number: UInt32) throws(StoreError) -> Segment {
    // Its header names the oldest one that is still needed.
    let first = reader.state.withLock { $0.journal.firstNumber }
    journal.sync.forgetFailed(before: first)
    do throws(StoreError) {
      return try journal.open(
        try journal.make(number, version: segmentVersion, neededFrom: first))
    } catch {
      reader.state.withLock { reader.refuse(&$0, error) }
      throw error
    }
  }

  /// Begins a new segment and seals the old one. All readers continue in the new one.
  private func roll(from old: Segment) throws(StoreError) -> Segment {
    let next = try makeSegment(old.number + 1).number
    let end = try write([SealRecord.bytes(next: UInt64(next))], to: old)
    // Then a loss of power damages the newest segment only, and what stands before the damage has
    // not been changed by what is lost. If it fails, the journal is written anew before the next
    // promise.
    if old.version > 1 { try? syncJournalLocked(end) }
    let current = try reader.state.withLock { state throws(StoreError) in
      // `makeSegment` may have left out numbers whose names other files have.
      if state.journal.needsReload { reader.reload(&state) }
      try reader.check(state)
      return state.journal.current
    }
    guard let segment = current, segment.number == next else {
      throw StoreError(
        .damaged, path: "\(path)/journal", cause: "segment \(next) cannot be opened",
        remedy: "check the disk, then open the store again")
    }
    return segment
  }

  /// Begins a segment if there is none to write to, so that all processes that have the store open
  /// follow the same one. If that fails, on a full disk for example, the first record begins it.
  func beginJournal() {
    _ = try? journal.withLock { () throws(StoreError) in
      reader.follow()
      if reader.state.withLock({ $0.journal.current == nil }) { _ = try writableSegment() }
    }
  }

  /// Makes the next record one in a segment that may have bodies. Called for a metadata file with a
  /// body, which no program writes that does not know such segments.
  func requireFormat2() {
    journal.version.store(2, ordering: .relaxed)
    let isOld = reader.state.withLock { $0.journal.current != nil && !$0.journal.carriesBodies }
    if isOld { journal.rollsNext.store(true, ordering: .relaxed) }
  }

  /// Begins a new segment after a linked one, or one whose end is given up because it cannot be read. The
  /// caller holds the journal's lock.
  func leave(_ left: Segment) throws(StoreError) -> Segment {
    try beginAsked { () throws(StoreError) in
      try beginWithoutSeal(left.number + 1) { state, segment in
        state.journal.goOn(with: segment)
        state.journal.giveUpUnread()
      }
    }
  }

  /// Begins a segment after one that gets no seal, with a record without accesses: others take one without
  /// records for a segment that nobody goes on in. The caller holds the journal's lock.
  ///
  /// - Parameter add: adds the segment to the state, unless a thread that only reads has found it.
  private func beginWithoutSeal(
    _ number: UInt32, _ add: (inout StoreState, Segment) -> Void
  ) throws(StoreError) -> Segment {
    if tree.staging.session == nil, segmentVersion > 1 { _ = try makeSessionAsIs() }
    try replaceLock()
    let made = try makeSegment(number)
    return try reader.state.withLock { state throws(StoreError) in
      let found = state.journal.current.flatMap { $0.number == made.number ? $0 : nil }
      guard found != nil || state.journal.endNumber == number else {
        // A thread that reads has found that the journal cannot be read any more.
        try reader.check(state)
        throw .unreadable(journal.path(of: number))
      }
      let segment = found ?? made
      let isGivenUp = state.journal.unread != nil
      let sequence = max(state.journal.sequence, isGivenUp ? state.journal.sequenceBeforeCut : 0)
      let bytes = try journal.write(
        [TouchRecord.bytes([])], to: segment, at: Int64(SegmentHeader.count), after: sequence)
      state.journal.sequence = sequence
      if isGivenUp { state.journal.sequenceBeforeCut = 0 }
      if found == nil { add(&state, segment) }
      state.journal.lockNumber = place.lock.number
      apply(bytes, of: segment, to: &state)
      return segment
    }
  }

  /// Replaces the file `lock`, so that others look for a segment that follows one without a seal. The
  /// caller holds the journal's lock.
  func replaceLock() throws(StoreError) {
    try system("\(path)/lock") { () throws(SystemError) in
      try place.lock.replace(with: place.lock.mark ?? [], in: place.root, tree.clock)
    }
  }
}
