internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The part of the log that has been settled in a pass from its begin to its end, which may take
/// several steps.
struct SettlingProgress {
  /// The segment and the offset before which every entry is settled, or could not be.
  var segment: UInt32 = 0
  var offset: Int64 = 0
  /// The first failure of the pass. The next pass tries those entries again.
  var failure: StoreError?
  /// The failed steps of the upkeep since the last pass without a failure.
  var failures = 0

  /// Ends a pass. After a failure, which it throws, the caller begins again.
  mutating func endPass() throws(StoreError) {
    if let failure { throw failure }
    failures = 0
  }

  /// Begins at the start of the log if entries were left out.
  mutating func beginAgain() {
    if failure != nil { (segment, offset, failure) = (0, 0, nil) }
  }
}

/// The end of a step of settling.
enum SettlingEnd: Equatable {
  /// Everything that was asked for is settled.
  case done
  /// The time is over.
  case interrupted
  /// The next entry is too young by so many nanoseconds.
  case young(Int64)
  /// Another thread or process settles or compacts.
  case busy
}

/// Settling: the files of an entry whose record carries its body are written, one entry at a time
/// under the lock of its shard, in the order of the records. One process at a time settles, under the
/// lock of compaction.
final class Settler: CatalogUser {
  let catalog: Catalog
  let volumeSync: VolumeSync
  /// The part of the log that has been settled.
  private let settling = Mutex(SettlingProgress())

  init(_ catalog: Catalog) {
    self.catalog = catalog
    volumeSync = VolumeSync(catalog.place, catalog.reader.upkeep)
  }

  /// The number of entries that only the log has.
  var unsettledEntries: Int { reader.withCurrentState { $0.index.totals.unsettledEntries } }

  /// Settles for 5 ms. One step of the upkeep.
  ///
  /// - Returns: the nanoseconds after which the next step is due; `nil` if everything is settled.
  func settleStep() -> (after: Int64?, failure: StoreError?) {
    let deadline = monotonicNanoseconds() + Self.sliceNanoseconds
    if !tree.staging.sweepReplaced(until: deadline) { return (0, nil) }
    let (count, isHalfUsed, isComplete) = reader.withCurrentState { state in
      (
        state.index.totals.unsettledEntries,
        state.logBudget.isHalfUsed(state.journal.bodies.unsettled), state.isComplete
      )
    }
    if count == 0 {
      settling.withLock { $0.failures = 0 }
      return (nil, nil)
    }
    if !isComplete { return (Self.longPause, nil) }
    do throws(StoreError) {
      switch try settle(olderThan: isHalfUsed ? .min : journal.settlingDelay, until: deadline) {
      case .done: return (nil, nil)
      case .interrupted: return (0, nil)
      case .young(let nanoseconds): return (max(nanoseconds, 1_000_000), nil)
      case .busy: return (Self.longPause, nil)
      }
    } catch {
      let failures = settling.withLock { progress in
        progress.failures += 1
        return progress.failures
      }
      return (min(Self.longPause << Int64(min(failures - 1, 10)), Self.longestPause), error)
    }
  }

  /// Settles everything that is in the log now.
  ///
  /// - Parameter nanoseconds: the longest time that it takes.
  /// - Returns: whether everything is settled.
  func settleAll(within nanoseconds: Int64 = .max) throws(StoreError) -> Bool {
    let begin = monotonicNanoseconds()
    let deadline = nanoseconds == .max ? .max : begin + nanoseconds
    tree.staging.sweepReplaced(until: deadline)
    while unsettledEntries > 0, try settle(until: deadline) == .busy,
      monotonicNanoseconds() < deadline
    {
      pause(nanoseconds: 5_000_000)
    }
    return unsettledEntries == 0
  }

  private static var sliceNanoseconds: Int64 { 5_000_000 }
  private static var longPause: Int64 { 1_000_000_000 }
  private static var longestPause: Int64 { 600_000_000_000 }

  /// Settles entries.
  ///
  /// - Parameters:
  ///   - age: the age from which entries are settled, in nanoseconds.
  ///   - deadline: the time by the monotonic clock at which the call returns.
  /// - Throws: the first error that prevents an entry from being settled, after all others were tried,
  ///   unless the volume is full. The entry stays in the log.
  func settle(
    olderThan age: Int64 = .min, until deadline: Int64
  ) throws(StoreError) -> SettlingEnd {
    var end = SettlingEnd.busy
    try journal.withCompactionLock(isWaiting: false) { () throws(StoreError) in
      end = try settleLocked(olderThan: age, until: deadline)
    }
    return end
  }

  /// Does the same as `settle`, for a caller that holds the lock of compaction.
  ///
  /// - Parameter last: the last segment whose entries are settled.
  func settleLocked(
    through last: UInt32 = .max, olderThan age: Int64 = .min, until deadline: Int64 = .max
  ) throws(StoreError) -> SettlingEnd {
    do throws(StoreError) {
      return try settlePass(through: last, olderThan: age, until: deadline)
    } catch {
      // That error ends the pass, and no other is reported later.
      settling.withLock { $0.beginAgain() }
      throw error
    }
  }

  private func settlePass(
    through last: UInt32, olderThan age: Int64, until deadline: Int64
  ) throws(StoreError) -> SettlingEnd {
    let now = tree.clock.now()
    // Each step tries one entry at least.
    var hasBegun = false
    var first = settling.withLock { $0.segment }
    while true {
      let next = try reader.withCurrentState { state throws(StoreError) -> (Segment, Int64)? in
        try reader.check(state)
        for case .some(let use) in state.journal.segments
        where use.segment.number >= first && use.unsettledEntries > 0 {
          return use.segment.number <= last ? (use.segment, use.readBytes) : nil
        }
        return nil
      }
      guard let (segment, length) = next else {
        try settling.withLock { progress throws(StoreError) in try progress.endPass() }
        return .done
      }
      first = segment.number + 1
      let end = try settle(segment, upTo: length) { created in
        defer { hasBegun = true }
        if hasBegun, monotonicNanoseconds() >= deadline { return .interrupted }
        let youth = created.nanoseconds &+ max(0, age) &- now
        // A time that is to come, because the clock was set back, counts as old.
        return age > 0 && youth > 0 && created.nanoseconds <= now ? .young(youth) : nil
      }
      if case .young = end {
        try settling.withLock { progress throws(StoreError) in try progress.endPass() }
      }
      if let end { return end }
    }
  }

  /// Settles the entries of a segment, from the place that the pass has reached.
  ///
  /// - Parameter isOver: called before each entry with the time at which it was stored.
  /// - Returns: the result of `isOver` that ended it; `nil` at the end of the segment.
  private func settle(
    _ segment: Segment, upTo length: Int64, _ isOver: (Timestamp) -> SettlingEnd?
  ) throws(StoreError) -> SettlingEnd? {
    var position = settling.withLock {
      $0.segment == segment.number ? $0.offset : Int64(SegmentHeader.count)
    }
    var result: Result<SettlingEnd?, StoreError> = .success(nil)
    var failure: StoreError?
    var records = SegmentReader(segment.number, hashSeed: tree.hashSeed, from: position)
    do throws(SystemError) {
      try records.read(segment.file, upTo: length, fileSystem) { item in
        guard case .record(let header, let bytes, let place) = item else { return true }
        defer { if case .success(nil) = result { position = place + Int64(header.length) } }
        do throws(StoreError) {
          guard let entry = unsafe try logged(header, bytes, segment, place) else { return true }
          if let end = isOver(entry.record.head.created) {
            result = .success(end)
            return false
          }
          try settle(entry)
        } catch {
          // These prevent the other entries, too.
          if error.code == .noSpace || error.code == .closed
            || SystemError(error.errno).isOutOfDescriptors
          {
            result = .failure(error)
            return false
          }
          failure = failure ?? error
        }
        return true
      }
    } catch {
      result = .failure(StoreError(error, path: journal.path(of: segment.number)))
    }
    let isClean = settling.withLock { progress in
      (progress.segment, progress.offset) = (segment.number, position)
      progress.failure = progress.failure ?? failure
      return progress.failure == nil
    }
    // An entry that was not found at its place would be searched for again and again.
    if isClean, case .success(nil) = result { setLostAside(in: segment.number, before: length) }
    return try result.get()
  }

  /// Returns the entry of a record if the record is current, and only the log has the entry. One
  /// with a wrong body is set aside.
  ///
  /// - Throws: an error if a later change of the entry may be lost, or cannot be read now.
  private func logged(
    _ header: RecordFrame.Header, _ bytes: UnsafeRawBufferPointer, _ segment: Segment,
    _ place: Int64
  ) throws(StoreError) -> Logged? {
    guard let (head, body) = unsafe PutHead.carrying(header, bytes) else { return nil }
    let found = try reader.state.withLock { state throws(StoreError) -> (Slot, EntriesDirectory)? in
      guard let number = state.index.find(head.keyHash, head.variant) else { return nil }
      let slot = state.index[number]
      guard slot.segment == segment.number, Int64(slot.offset) == place, slot.isUnsettled
      else { return nil }
      if state.isDoubtful(slot) { throw .unreadable(journal.path) }
      return (slot, state.entries)
    }
    guard let (slot, entries) = found,
      let record = unsafe PutRecord(checked: Array(bytes.prefix(header.headCount)))
    else { return nil }
    guard unsafe head.digest.names(body, hashSeed: tree.hashSeed) else {
      upkeep.setAside(slot)
      return nil
    }
    return Logged(slot: slot, entries: entries, record: record, body: unsafe Array(body))
  }

  /// Sets the entries of a segment aside that are not settled after its whole length was read: their
  /// records can no longer be read.
  private func setLostAside(in number: UInt32, before length: Int64) {
    let lost = reader.state.withLock { state -> [Slot] in
      guard let place = state.journal.segments.firstIndex(where: { $0?.segment.number == number }),
        state.journal.segments[place]?.unsettledEntries ?? 0 > 0
      else { return [] }
      var lost: [Slot] = []
      for slot in 0..<UInt32(state.index.slotCount) {
        let slot = state.index[slot]
        if slot.isLive, slot.segment == number, slot.offset < length, slot.isUnsettled,
          !state.isDoubtful(slot)
        {
          lost.append(slot)
        }
      }
      return lost
    }
    for slot in lost { upkeep.setAside(slot) }
  }
}
