internal import CacheFormat
internal import CacheSystem

extension JournalOpening {
  /// Returns whether the machine may have restarted since the store was used last, and no process has
  /// compared tree and journal since then. The caller holds the journal's lock.
  func mayHaveRestarted() throws(StoreError) -> Bool {
    let dead = try tree.staging.deadSessions()
    if !dead.isEmpty { return dead.contains(where: tree.staging.isOfEarlierBoot) }
    if journal.markedEnd != nil { return false }
    return try !tree.staging.hasLiveSessions()
  }

  /// Returns the number in a closing mark after which the journal goes on, although no session shows who
  /// used the store since: their directories were not synced, and a loss of power took them. `nil` if
  /// that is not so. The caller holds the journal's lock, and has read the journal.
  func endUsedSince() throws(StoreError) -> UInt64? {
    guard let marked = journal.durableEnd,
      reader.state.withLock({ $0.journal.goesOn(after: marked) }),
      try tree.staging.deadSessions().isEmpty, try !tree.staging.hasLiveSessions()
    else { return nil }
    // What is torn at the end of a segment with a second name stays there.
    let last = reader.state.withLock { $0.journal.current }
    let status = last.flatMap { try? fileSystem.status(of: $0.file.raw) }
    return status?.isLinked == true ? nil : marked
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
  /// If the system refuses a step of this (a quota), what is behind the place does not count until it is cut off:
  /// before this process makes a session or appends a record. Without a living session, others that open
  /// the store find the same place.
  ///
  /// - Parameter marked: the number of the last record that is known to be synced. Damage before it stays.
  func cutUnsynced(after marked: UInt64?) throws(StoreError) {
    let newest = reader.state.withLock { state -> [Segment] in
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
    let wasKilled = try !tree.staging.deadSessions().isEmpty
    let sequence = reader.state.withLock { $0.journal.sequence }
    var search = UnsyncedSearch(synced: marked ?? 0)
    for segment in newest {
      guard let (end, isTail) = search.firstUnsynced(in: segment, tree.hashSeed, fileSystem)
      else { continue }
      do throws(StoreError) {
        try writer.prepareCut(after: segment.number)
        try journal.cut(segment, at: end)
      } catch {
        let status = try system(journal.path(of: segment.number)) { () throws(SystemError) in
          try fileSystem.status(of: segment.file.raw)
        }
        reader.state.withLock { state in
          state.journal.refusedCut = RefusedCut(number: segment.number, end: end, of: status)
          state.endedUncleanly = true
        }
      }
      try loadAgain()
      // The next record leaves a number out, so that all who read it before the journal is written anew
      // notice that one is lost.
      if !isTail || segment !== newest.last || !wasKilled {
        try writer.noteLostRecords(through: sequence &+ 1)
      }
      return
    }
  }

  private func loadAgain() throws(StoreError) {
    try reader.state.withLock { state throws(StoreError) in
      state.forgetJournal()
      (state.limits, state.limitsSegment) = (.none, 0)
      try reader.load(&state)
    }
  }
}

/// The search for the first place that is not as it was written, in segments that follow each other.
private struct UnsyncedSearch {
  /// The number of the last record that is known to be synced; 0 once it was read.
  var synced: UInt64
  /// The last sequence number of the segment before, if it has no seal.
  private var unsealedEnd: UInt64?

  init(synced: UInt64) { self.synced = synced }

  /// Returns the place of the first record or body of the next segment that is not as it was written, or
  /// that follows records which the segment before has lost at its end; and whether it is a torn end.
  mutating func firstUnsynced(
    in segment: Segment, _ hashSeed: UInt64, _ fileSystem: any FileSystem
  ) -> (Int64, isTail: Bool)? {
    var found: (Int64, isTail: Bool)?
    var before = unsealedEnd.take()
    var reader = SegmentReader(
      segment.number, hashSeed: hashSeed, from: Int64(SegmentHeader.count))
    do throws(SystemError) {
      let length = try fileSystem.length(of: segment.file.raw)
      try reader.read(segment.file, upTo: length, fileSystem) { item in
        switch item {
        case .record(let header, let bytes, let place):
          let end = before.take()
          unsealedEnd = header.type == .seal ? nil : header.sequence
          let isSynced = header.sequence <= synced
          if header.sequence >= synced { synced = 0 }
          if isSynced { break }
          if let end, header.sequence != end &+ 1 { found = (place, false) }
          if let (head, body) = unsafe PutHead.carrying(header, bytes),
            unsafe !head.digest.names(body, hashSeed: hashSeed)
          {
            found = (place, false)
          }
        case .damage(let range): if synced == 0 { found = (range.lowerBound, false) }
        case .tail(let range): if synced == 0 { found = (range.lowerBound, true) }
        }
        return found == nil
      }
    } catch {
      // Where the segment ends is not known.
      unsealedEnd = nil
    }
    return found
  }
}
