internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Appending to the journal. This needs the lock of the file `lock`, so that one process at a time
// writes. The journal is read to its end first, so that decisions are based on its present content.
extension Catalog {
  /// Appends the records that `prepare` returns. If there is room for some of them only, these may stay
  /// although an error is thrown: so each must be right without those that follow.
  ///
  /// `prepare` runs with an up-to-date index, while nobody else can append. Its records are padded,
  /// but have no sequence number and checksum yet. If it throws or returns none, nothing is
  /// appended.
  ///
  /// - Durability: survives the death of the process. `sync` makes a record survive a loss of
  ///   power.
  @discardableResult
  func append(
    _ prepare: (inout StoreState) throws(StoreError) -> [[UInt8]]
  ) throws(StoreError) -> AppendedPlace? {
    try journal.withLock { () throws(StoreError) in try appendLocked(prepare) }
  }

  /// Does the same as `append`, for a caller that holds the lock.
  func appendLocked(
    _ prepare: (inout StoreState) throws(StoreError) -> [[UInt8]]
  ) throws(StoreError) -> AppendedPlace? {
    try completeClear()
    while true {
      let records = try state.withLock { state throws(StoreError) -> [[UInt8]] in
        follow(&state)
        followUnsealed(&state, place.lock.number)
        try check(state)
        return try prepare(&state)
      }
      if records.isEmpty { return nil }
      try beginSession()
      if let segment = try writableSegment() { return try write(records, to: segment) }
      state.withLock { reload(&$0) }
    }
  }

  /// Throws an error if the store is closed, or if the end of the journal cannot be read.
  func checkReadable() throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      follow(&state)
      try check(state)
    }
  }

  /// Throws an error if the store is closed, or if the end of the journal cannot be read. Records that
  /// are there must not be overwritten, nor files that they name.
  func check(_ state: borrowing StoreState) throws(StoreError) {
    try state.checkOpen(path)
    guard let error = state.journal.unread else { return }
    throw StoreError(
      error, path: state.journal.current.map { journal.path(of: $0.number) } ?? journal.path)
  }

  /// Makes sure that this process has a session if the journal may have bodies. If it is killed while
  /// it appends, the session shows that the bytes after the last record were never promised. Without
  /// one they would be damage, and the entries before them doubtful. The caller holds the journal's
  /// lock.
  private func beginSession() throws(StoreError) {
    if tree.staging.session == nil, segmentVersion > 1 { _ = try makeSession() }
  }

  /// Makes the session of this process, which ends when nothing is changed any more. The caller holds the
  /// journal's lock.
  ///
  /// What a loss of power has left at the end of the journal is cut off before: beside a living session,
  /// others would take it for damage.
  func makeSession() throws(StoreError) -> Session {
    if state.withLock({ $0.journal.cutOff != nil }) { try cutTornTailLocked() }
    let session = try tree.staging.makeSession()
    upkeep.requestRest()
    return session
  }

  /// The version of the next segment. It never falls.
  private var segmentVersion: UInt32 {
    max(
      journal.version.load(ordering: .relaxed),
      state.withLock { $0.journal.current?.version ?? 1 })
  }

  /// Returns the segment to append to. A torn tail is cut off; if the segment is full, a new one is
  /// begun. The caller holds the journal's lock.
  ///
  /// - Returns: `nil` if the current segment has lost its name, so that nobody would read the records.
  func writableSegment() throws(StoreError) -> Segment? {
    let (current, position, torn) = state.withLock { state in
      (state.journal.current, state.journal.position, state.journal.tornBytes)
    }
    guard let current else {
      let (number, isFirst) = state.withLock { state in
        (state.journal.nextNumber, state.journal.segments.isEmpty)
      }
      // Others may be able to read a segment that is lost here.
      if !isFirst { try replaceLock() }
      let segment = try makeSegment(number)
      return state.withLock { state in
        // A thread that only reads may have found the file already.
        if let found = state.journal.current { return found }
        state.journal.add(segment)
        state.journal.lockNumber = place.lock.number
        return segment
      }
    }
    guard let ready = try withoutTail(current, torn, at: position) else { return nil }
    if ready !== current { return ready }
    let isFull = state.withLock { self.isFull($0) }
    if !isFull && !journal.rollsNext.exchange(false, ordering: .relaxed) { return current }
    return try roll(from: current)
  }

  /// Cuts off the bytes after the last record, if there are any.
  package func cutTornTail() throws(StoreError) {
    try journal.withLock { () throws(StoreError) in try cutTornTailLocked() }
  }

  /// Does the same, for a caller that holds the journal's lock.
  func cutTornTailLocked() throws(StoreError) {
    let (current, position, torn) = state.withLock { state in
      follow(&state)
      return (state.journal.current, state.journal.position, state.journal.tornBytes)
    }
    if let current, torn > 0 { _ = try withoutTail(current, torn, at: position) }
  }

  /// Returns the segment to go on in: the current one without the bytes after the last record, or the
  /// next one if the current one has a second link; `nil` if the current one has no name any more.
  private func withoutTail(
    _ current: Segment, _ torn: Int64, at position: Int64
  ) throws(StoreError) -> Segment? {
    let status = try system(journal.path(of: current.number)) { () throws(SystemError) in
      try fileSystem.status(of: current.file.raw)
    }
    if status.linkCount == 0 { return nil }
    let isRefused = state.withLock { refusedCut(of: current, &$0) != nil }
    if isRefused { try prepareCut(after: current.number) }
    // Nobody else is writing, so a killed process left the bytes after the last record. What a loss of power
    // has left is cut off also in a file with a second name, as when the store is opened.
    if torn > 0, isRefused || !status.isLinked { try cutTail(of: current, at: position) }
    return status.isLinked ? try leave(current) : current
  }

  /// Cuts off the bytes after the last record. The caller holds the journal's lock, and has read up
  /// to `position`.
  private func cutTail(of segment: Segment, at position: Int64) throws(StoreError) {
    try journal.cut(segment, at: position)
    state.withLock { state in
      state.journal.tornBytes = 0
      state.journal.cutOff = nil
      // In a journal that is not whole, perhaps because of this tail, a number is left out. So
      // processes that open the store before it is written anew notice the damage.
      if !state.journal.isWhole { state.journal.sequence &+= 1 }
    }
  }

  /// Makes a segment and opens it. If a newer program has begun it, this store is closed.
  func makeSegment(_ number: UInt32) throws(StoreError) -> Segment {
    do throws(StoreError) {
      return try journal.open(try journal.make(number, version: segmentVersion))
    } catch {
      state.withLock { refuse(&$0, error) }
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
    if old.version > 1 { try? syncJournal(end) }
    let current = try state.withLock { state throws(StoreError) in
      // `makeSegment` may have left out numbers whose names other files have.
      if state.journal.needsReload { reload(&state) }
      try check(state)
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
      state.withLock { follow(&$0) }
      if state.withLock({ $0.journal.current == nil }) { _ = try writableSegment() }
    }
  }

  /// Writes records at the end of a segment that has been read to its end, and applies them.
  private func write(_ records: [[UInt8]], to segment: Segment) throws(StoreError) -> AppendedPlace
  {
    let (start, sequence) = state.withLock { ($0.journal.position, $0.journal.sequence) }
    let bytes: [UInt8]
    do throws(StoreError) {
      bytes = try journal.write(records, to: segment, at: start, after: sequence)
    } catch {
      // Removals may stay, and the files of those entries are still there.
      if records.count > 1 { tree.staging.noteUnclean() }
      let isTorn = state.withLock { state in
        follow(&state)
        return state.journal.tornBytes > 0
      }
      if isTorn {
        // The system refuses to cut it off (a quota). Only the session of a process that is gone shows
        // others that it is no damage.
        tree.staging.abandonSession()
      }
      throw error
    }
    let end = start + Int64(bytes.count)
    state.withLock { state in
      // Another thread may have read the records already.
      guard state.journal.current === segment, state.journal.position == start else { return }
      // Safety: the array outlives the call.
      unsafe bytes.withUnsafeBytes { buffer in
        var reader = SegmentReader(segment.number, hashSeed: hashSeed, from: start)
        unsafe reader.read(buffer) { apply($0, of: segment, to: &state) }
      }
    }
    return AppendedPlace(segment: segment, end: end)
  }
}

/// The end of a record that was appended.
struct AppendedPlace {
  let segment: Segment
  let end: Int64
}
