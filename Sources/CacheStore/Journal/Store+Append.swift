internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Appending to the journal: under the advisory lock of `lock`, so that one process at a time writes,
// and after reading on to its end, so that nobody decides on what is no longer so.
extension Store {
  /// The length that no segment reaches: records that are appended together go beyond `JournalSizes.segmentBytes`
  /// by less. What is longer is none, and is not read.
  package static var maximumSegmentBytes: Int64 {
    JournalSizes().segmentBytes + 2 * Int64(RecordFrame.maximumLength)
  }

  /// Appends the records that `prepare` makes, all or none.
  ///
  /// `prepare` runs with the index up to date and nobody else able to append; records are padded but
  /// not yet placed. When it throws or makes none, nothing is appended.
  ///
  /// - Durability: of the process; see `JournalSync` for loss of power.
  @discardableResult
  func append(
    _ prepare: (inout StoreState) throws(StoreError) -> [[UInt8]]
  ) throws(StoreError) -> AppendedPlace? {
    try withJournalLock { () throws(StoreError) in try appendLocked(prepare) }
  }

  /// As `append`, for a caller that holds the lock.
  func appendLocked(
    _ prepare: (inout StoreState) throws(StoreError) -> [[UInt8]]
  ) throws(StoreError) -> AppendedPlace? {
    let records = try state.withLock { state throws(StoreError) -> [[UInt8]] in
      follow(&state)
      followUnsealed(&state, place.lock.number)
      if state.isClosed { throw state.refusal ?? .closed(path) }
      return try prepare(&state)
    }
    if records.isEmpty { return nil }
    let segment = try writableSegment()
    return try write(records, to: segment)
  }

  /// The segment to append to: its torn tail cut off, or a new one where it is full. The caller holds
  /// the journal's lock.
  func writableSegment() throws(StoreError) -> Segment {
    let (current, position, torn) = state.withLock { state in
      (state.current, state.position, state.tornBytes)
    }
    guard let current else {
      return try beginSegment(state.withLock { $0.nextSegment })
    }
    let isLinked = try system(segmentPath(current.number)) { () throws(SystemError) in
      try fileSystem.isLinked(current.file)
    }
    if isLinked { return try leave(current) }
    // Nobody else is writing, so what stands after the last record was left by a killed process.
    if torn > 0 { try cutTail(of: current, at: position) }
    let isFull = state.withLock { position >= journalBudget($0).segmentBytes }
    if !isFull && !rollsNext.exchange(false, ordering: .relaxed) { return current }
    return try roll(from: current)
  }

  /// Cuts the journal. The caller holds its lock, and has read on to `position`.
  func cutTail(of segment: Segment, at position: Int64) throws(StoreError) {
    do throws(SystemError) {
      try fileSystem.truncate(segment.file, to: position)
    } catch {
      throw StoreError(error, path: "\(path)/journal/\(Layout.segment(segment.number).text)")
    }
    state.withLock { state in
      state.tornBytes = 0
      // The journal is not whole, perhaps because of this very tail: a number that is left out says so
      // to whoever opens the store before it is written anew.
      if !state.isJournalWhole { state.sequence &+= 1 }
    }
  }

  /// Begins a new segment and seals the old one, which makes everybody go on to the new one.
  private func roll(from old: Segment) throws(StoreError) -> Segment {
    let next = try makeSegment(old.number + 1)
    _ = try write([SealRecord.bytes(next: UInt64(next))], to: old)
    let current = state.withLock { state in
      // A number was left out because another file has the name.
      if state.needsReload { reload(&state) }
      return state.current
    }
    guard let segment = current, segment.number == next else {
      throw StoreError(
        .damaged, path: "\(path)/journal", cause: "segment \(next) cannot be opened",
        remedy: "check the disk, then open the store again")
    }
    return segment
  }

  /// Begins a segment where there is none to write to, so that everybody who has the store open
  /// follows the same. On a full disk it has to wait for the first record.
  func beginJournal() {
    _ = try? withJournalLock { () throws(StoreError) in
      state.withLock { follow(&$0) }
      if state.withLock({ $0.current == nil }) { _ = try writableSegment() }
    }
  }

  /// Begins the first segment of a store without a journal.
  private func beginSegment(_ number: UInt32) throws(StoreError) -> Segment {
    let segment = try openSegment(try makeSegment(number))
    state.withLock { $0.add(segment) }
    return segment
  }

  /// Writes the file of a new segment and gives it its name when it is whole. It never replaces a file:
  /// one without records was left by a process that was killed here, and is used; what else has the
  /// name stays, and the next free number is taken. The caller holds the lock of the journal.
  ///
  /// - Throws: `newerFormat` where a newer program has begun the segment.
  func makeSegment(_ number: UInt32) throws(StoreError) -> UInt32 {
    var number = number
    while (try? fileSystem.status(at: Layout.segment(number), in: place.journal.raw)) != nil {
      do throws(StoreError) {
        let segment = try openSegment(number)
        if (try? fileSystem.length(of: segment.file.raw)) == Int64(SegmentHeader.count) {
          return number
        }
      } catch  where error.code == .newerFormat {
        state.withLock { refuse(&$0, error) }
        throw error
      } catch {
        // Damaged, or another store's.
      }
      number += 1
    }
    try writeSegment(number)
    return number
  }

  private func writeSegment(_ number: UInt32) throws(StoreError) {
    let header = SegmentHeader(
      storeID: place.description.id, hashSeed: hashSeed, number: UInt64(number),
      created: Timestamp(nanoseconds: clock.now()))
    let new = Layout.newSegment
    do throws(SystemError) {
      try freeJournalName(new)
      let file = try fileSystem.open(
        new, in: place.journal, [.read, .write, .create, .exclusive])
      try fileSystem.write(file, header.bytes)
      if durability == .full { try fileSystem.synchronize(file, names: true) }
      try fileSystem.rename(
        new, in: place.journal.raw, to: Layout.segment(number), in: place.journal.raw)
      if durability == .full { try fileSystem.synchronize(place.journal, names: true) }
    } catch {
      throw StoreError(error, path: "\(path)/journal/\(Layout.segment(number).text)")
    }
  }

  /// Writes records at the end of a segment that has been read to its end, and applies them.
  private func write(_ records: [[UInt8]], to segment: Segment) throws(StoreError) -> AppendedPlace
  {
    let (start, lastSequence) = state.withLock { ($0.position, $0.sequence) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(records.reduce(0) { $0 + $1.count })
    var sequence = lastSequence
    for var record in records {
      sequence &+= 1
      RecordFrame.place(
        &record, sequence: sequence, seed: segment.seed(hashSeed, start + Int64(bytes.count)))
      bytes.append(contentsOf: record)
    }
    do throws(SystemError) {
      try fileSystem.write(segment.file, bytes, at: start)
    } catch {
      // What was written in part must not stand before the next record.
      try? fileSystem.truncate(segment.file, to: start)
      throw StoreError(error, path: "\(path)/journal/\(Layout.segment(segment.number).text)")
    }
    let end = start + Int64(bytes.count)
    state.withLock { state in
      // A reader in another thread may have read it already.
      guard state.current === segment, state.position == start else { return }
      // Safety: the array outlives the call.
      unsafe bytes.withUnsafeBytes { buffer in
        _ = unsafe applyRecords(&state, segment, buffer, at: start, isEnd: true)
      }
    }
    return AppendedPlace(segment: segment, end: end)
  }
}

/// Where a record that was appended ends.
struct AppendedPlace {
  let segment: Segment
  let end: Int64
}
