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

  /// Begins the next pass.
  ///
  /// - Throws: the failure of this one.
  mutating func endPass() throws(StoreError) {
    guard let failure = failure.take() else {
      failures = 0
      return
    }
    (segment, offset) = (0, 0)
    throw failure
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

// Settling: the files of an entry whose record carries its body are written, one entry at a time
// under the lock of its shard, in the order of the records. One process at a time settles, under the
// lock of compaction.
extension Catalog {
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
    let now = clock.now()
    // Each step tries one entry at least.
    var hasBegun = false
    var first = settling.withLock { $0.segment }
    while true {
      let next = try state.withLock { state throws(StoreError) -> (Segment, upTo: Int64)? in
        follow(&state)
        try check(state)
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
    var reader = SegmentReader(segment.number, hashSeed: hashSeed, from: position)
    do throws(SystemError) {
      try reader.read(segment.file, upTo: length, fileSystem) { item in
        guard case .record(let header, let bytes, let place) = item else { return true }
        defer { if case .success(nil) = result { position = place + Int64(header.length) } }
        guard let entry = unsafe logged(header, bytes, segment, place) else { return true }
        if let end = isOver(entry.record.head.created) {
          result = .success(end)
          return false
        }
        do throws(StoreError) { try settle(entry) } catch {
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

  /// An entry that only the log has.
  private struct Logged {
    var slot: Slot
    var entries: EntriesDirectory
    var record: PutRecord
    var body: [UInt8]
  }

  /// Returns the entry of a record if the record is current, and only the log has the entry. One
  /// with a wrong body is set aside.
  private func logged(
    _ header: RecordFrame.Header, _ bytes: UnsafeRawBufferPointer, _ segment: Segment,
    _ place: Int64
  ) -> Logged? {
    guard let (head, body) = unsafe PutHead.carrying(header, bytes) else { return nil }
    let found = state.withLock { state -> (Slot, EntriesDirectory)? in
      guard let number = state.index.find(head.keyHash, head.variant) else { return nil }
      let slot = state.index[number]
      guard slot.segment == segment.number, Int64(slot.offset) == place, slot.isUnsettled,
        !state.isDoubtful(slot)
      else { return nil }
      return (slot, state.entries)
    }
    guard let (slot, entries) = found,
      let record = unsafe PutRecord(checked: Array(bytes.prefix(header.headCount)))
    else { return nil }
    guard unsafe head.digest.names(body, hashSeed: hashSeed) else {
      upkeep.setAside(slot)
      return nil
    }
    return Logged(slot: slot, entries: entries, record: record, body: unsafe Array(body))
  }

  /// Sets the entries of a segment aside that are not settled after its whole length was read: their
  /// records can no longer be read.
  private func setLostAside(in number: UInt32, before length: Int64) {
    let lost = state.withLock { state -> [Slot] in
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

  /// Which files an entry has that is settled.
  private enum Standing {
    /// The entry has none yet.
    case none
    /// It has files, which are damaged.
    case again
    /// It has files, which must not be used, because they may never reach the disk; unless another variant
    /// has the body file, and it was written anew with this number.
    case anew(file: UInt64?)

    var isSettled: Bool { if case .none = self { false } else { true } }
  }

  /// Writes the files of one entry, and appends the record of it, under the lock of its shard. Does
  /// nothing if the entry was replaced or removed meanwhile.
  ///
  /// - Returns: the body file, if it was written.
  @discardableResult
  private func settle(
    _ entry: Logged, _ standing: Standing = .none
  ) throws(StoreError) -> PlacedBody? {
    let session = try ownSession()
    return try withShard(of: entry.slot.keyHash) { shard throws(StoreError) in
      // What it has replaced goes first, so that both never take more than is counted.
      tree.staging.deleteReplaced(entry.slot.keyHash)
      let before = try state.withLock { state throws(StoreError) -> Before? in
        follow(&state)
        try check(state)
        guard shard.entries === entry.entries, state.entries === entry.entries,
          let number = state.number(of: entry.slot),
          state.index[number].isUnsettled != standing.isSettled
        else { return nil }
        return Before(&state, settling: state.index[number])
      }
      guard let before else { return nil }
      return try settle(entry, before, in: shard, session, standing)
    }
  }

  private func settle(
    _ entry: Logged, _ before: Before, in shard: borrowing Shard, _ session: Session,
    _ standing: Standing
  ) throws(StoreError) -> PlacedBody? {
    var keyFiles: KeyFiles
    do throws(StoreError) {
      keyFiles = try KeyFiles(
        tree, shard, entry.slot.keyHash, isKnown: before.hasFiles, isSynced: false)
    } catch {
      if isRemoval(error, of: shard.entries) { return nil }
      throw error
    }
    do throws(StoreError) {
      let head = entry.record.head
      let new = NewEntry(
        key: entry.record.key, variant: head.variant, metadata: entry.record.metadata,
        digest: head.digest, length: head.length, body: .bytes(entry.body))
      let isEmbedded = head.isEmbedded
      let body =
        isEmbedded
        ? PlacedBody(digest: head.digest, file: 0)
        : try placeBody(of: new, before, standing, in: &keyFiles)
      let document = try tree.document(
        for: StoredEntry(entry.record), sequence: entry.record.sequence,
        isEmbedded ? entry.body : nil)
      try keyFiles.placeMetadata(document, head.variant, replacing: false, staging: session)
      // The record of an entry whose body has another name now is written anew, without the body.
      if body.digest != head.digest, durability == .full { try synchronizeVolume() }
      let entries = shard.entries
      let placed = try append { state throws(StoreError) -> [[UInt8]] in
        guard state.entries === entries, let number = state.number(of: entry.slot),
          state.index[number].isUnsettled != standing.isSettled
        else { return [] }
        return [
          settledRecord(entry, body, tree.overhead(document.count), state.index[number].accessed)
        ]
      }
      // Compaction may have copied the record of the entry meanwhile, which still needs its files.
      if placed == nil, !standing.isSettled || !isSettled(entry, body, in: entries) {
        keyFiles.undo()
        return nil
      }
      keyFiles.keep()
      return body
    } catch {
      keyFiles.undo()
      if !isRemoval(error, of: shard.entries) { throw error }
      return nil
    }
  }

  /// Makes sure that the directory of the key has the body; if it must be written anew, in a file that
  /// reaches the disk with the next sync of the volume, or is there already.
  private func placeBody(
    of new: NewEntry, _ before: Before, _ standing: Standing, in keyFiles: inout KeyFiles
  ) throws(StoreError) -> PlacedBody {
    guard case .anew(let file) = standing else { return try keyFiles.placeBody(new, before) }
    var before = before
    if before.sharing?.slot.carriesBody == true { before.sharing = nil }
    // Another variant may have the file without the body in its record. Then it is on the disk.
    let isOnDisk = before.others.contains {
      $0.hasBodyFile && $0.digest == new.digest && !$0.carriesBody && !$0.isUnsettled
    }
    if file == nil, !isOnDisk {
      tree.discard(Layout.body(new.digest), in: keyFiles.directory.raw)
    }
    var body = try keyFiles.placeBody(new, before)
    if let file, body.digest == new.digest { body.file = file }
    return body
  }

  /// Returns whether the index has an entry as settled, with the body file that was just placed.
  private func isSettled(
    _ entry: Logged, _ body: PlacedBody, in entries: EntriesDirectory
  ) -> Bool {
    let digest = entry.record.head.digest
    return state.withLock { state in
      guard body.digest == digest, state.entries === entries,
        let number = state.index.find(entry.slot.keyHash, entry.slot.variant)
      else { return false }
      return !state.index[number].isUnsettled && state.index[number].digest == digest
    }
  }

  private func settledRecord(
    _ entry: Logged, _ body: PlacedBody, _ overhead: UInt32, _ accessed: Int64
  ) -> [UInt8] {
    var head = entry.record.head
    if body.digest == head.digest {
      return SettledRecord(
        keyHash: head.keyHash, variant: head.variant, segment: entry.slot.segment,
        offset: entry.slot.offset, bodyFile: body.file, overhead: overhead
      ).bytes
    }
    head.digest = body.digest
    head.bodyFile = body.file
    head.overhead = overhead
    head.accessed = Timestamp(nanoseconds: accessed)
    head.carriesBody = false
    return PutRecord(head: head, key: entry.record.key, metadata: entry.record.metadata).bytes
  }

  /// Writes the files of a settled entry again whose record carries the body, unless they are intact.
  /// They are not synced when they are written, so a loss of power may have damaged them.
  func restore(_ located: Located) throws(StoreError) {
    if !located.slot.carriesBody { return }
    if (try? tree.isWholeBody(located)) == true, !isSeparate(located) { return }
    guard let segment = located.segment,
      let (record, body) = try? readWhole(located, in: segment), let body
    else { return }
    try settle(
      Logged(slot: located.slot, entries: located.entries, record: record, body: body),
      .again)
  }

  /// Writes the files of a settled entry again whose record carries the body, whatever stands there.
  ///
  /// - Parameter written: the numbers of the body files that were written so. Variants of a key with equal
  ///   bodies have one.
  func writeAnew(_ located: Located, _ written: inout [BodyName: UInt64]) throws(StoreError) {
    guard let segment = located.segment,
      let (record, body) = try? readWhole(located, in: segment), let body
    else { return }
    let name = BodyName(hash: located.slot.keyHash, digest: record.head.digest)
    let file = written[name]
    let placed = try settle(
      Logged(slot: located.slot, entries: located.entries, record: record, body: body),
      .anew(file: file))
    if let placed, placed.digest == name.digest { written[name] = placed.file }
  }

  /// Returns whether an entry has a body file of its own, although it shares one by its records. A loss
  /// of power may bring the file of an equal body back, which the entry replaced.
  private func isSeparate(_ located: Located) -> Bool {
    let slot = located.slot
    guard slot.hasBodyFile, sharesFile(slot) else { return false }
    let status = try? place.fileSystem.status(
      at: Layout.bodyPath(slot.keyHash, slot.digest), in: located.entries.directory.raw)
    return status?.linkCount == 1
  }
}
