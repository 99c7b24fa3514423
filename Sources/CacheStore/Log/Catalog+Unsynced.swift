internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// After a restart of the machine without a clean end, the newest segment may lack what was not
// synced: records, and bodies whose records are there.
extension Catalog {
  /// Returns whether the machine may have restarted since the store was used last, and no process has
  /// compared tree and journal since then. The caller holds the journal's lock.
  func mayHaveRestarted() throws(StoreError) -> Bool {
    let dead = try tree.staging.deadSessions()
    if !dead.isEmpty { return dead.contains(where: tree.staging.isOfEarlierBoot) }
    if journal.markedEnd != nil { return false }
    return try !tree.staging.hasLiveSessions()
  }

  /// Cuts the journal off at the first damaged record or wrong body of its newest segments, if they
  /// have bodies. Everything after that place was never synced, so it was not promised, and the records
  /// before it have not been replaced by anything that was.
  ///
  /// These are the last two segments, because one is synced before anything in the next is promised;
  /// and all from one whose sync failed, because it is written anew before the next promise.
  ///
  /// The files of entries whose records are cut off may be intact, so the tree decides then. Only a torn
  /// end that a killed process explains is no such place.
  ///
  /// Does nothing while another process has the store open, because the restart was before that. The
  /// caller holds the journal's lock.
  ///
  /// - Parameter dead: the sessions of processes that are gone.
  func cutUnsynced(_ dead: [PathName]) throws(StoreError) {
    let newest = state.withLock { state -> [Segment] in
      let last = state.journal.nextNumber - 1
      let failed = state.journal.segments.compactMap { $0?.segment.unsynced }
        .filter { $0 >= state.journal.firstNumber }
      let first = min(failed.min() ?? .max, last - min(last, 1))
      let present = state.journal.segments.suffix(Int(last - first) + 1)
      let uses = present.compactMap { $0 }
      return uses.count == present.count && uses.contains(where: \.carriesBodies)
        ? uses.map(\.segment) : []
    }
    if newest.isEmpty { return }
    if try tree.staging.hasLiveSessions() { return }
    let sequence = state.withLock { $0.journal.sequence }
    var unsealedEnd: UInt64?
    for segment in newest {
      guard let (end, isTail) = firstUnsynced(in: segment, after: &unsealedEnd) else { continue }
      // The newest first, so that none is missing if this is interrupted. There may be one that was
      // only begun.
      for later in try journal.numbers().reversed() where later > segment.number {
        let name = Layout.segment(later)
        try system(journal.path(of: later)) { () throws(SystemError) in
          try fileSystem.removeFile(name, in: place.journal.raw)
          try fileSystem.synchronize(place.journal, names: true)
        }
      }
      try journal.cut(segment, at: end)
      try loadAgain()
      // The next record leaves a number out, so that all who read it before the journal is written anew
      // notice that one is lost.
      if !isTail || segment !== newest.last || dead.isEmpty {
        try noteLostRecords(through: sequence &+ 1)
      }
      return
    }
  }

  func loadAgain() throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      let entries = state.entries
      state.forgetJournal()
      (state.limits, state.limitsSegment) = (.none, 0)
      try load(&state)
      state.entries = entries
    }
  }

  /// Returns the place of the first record or body of a segment that is not as it was written, or
  /// that follows records which the segment before has lost at its end; and whether it is a torn end.
  ///
  /// - Parameter unsealedEnd: the last sequence number of the segment before, if it has no seal; then
  ///   that of this segment.
  private func firstUnsynced(
    in segment: Segment, after unsealedEnd: inout UInt64?
  ) -> (Int64, isTail: Bool)? {
    var found: (Int64, isTail: Bool)?
    var before = unsealedEnd.take()
    var reader = SegmentReader(
      segment.number, hashSeed: hashSeed, from: Int64(SegmentHeader.count))
    guard let length = try? fileSystem.length(of: segment.file.raw) else { return nil }
    try? reader.read(segment.file, upTo: length, fileSystem) { item in
      switch item {
      case .record(let header, let bytes, let place):
        if let end = before.take(), header.sequence != end &+ 1 { found = (place, false) }
        unsealedEnd = header.type == .seal ? nil : header.sequence
        if let (head, body) = unsafe PutHead.carrying(header, bytes),
          unsafe !head.digest.names(body, hashSeed: hashSeed)
        {
          found = (place, false)
        }
      case .damage(let range): found = (range.lowerBound, false)
      case .tail(let range): found = (range.lowerBound, true)
      }
      return found == nil
    }
    return found
  }
}
