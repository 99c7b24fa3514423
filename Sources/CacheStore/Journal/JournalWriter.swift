internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// Appending to the journal. This needs the lock of the file `lock`, so that one process at a time
/// writes. The journal is read to its end first, so that decisions are based on its present content.
///
/// `JournalWriter+Segments` begins segments, `+Tail` cuts off what a killed process or a loss of power
/// has left, `+Session` has the session of this process, `+Clear` the removal of all entries.
package final class JournalWriter: ReaderUser {
  let reader: JournalReader
  /// The number of the last record when the store last looked whether it may rest.
  let restSequence = Atomic<UInt64>(0)

  init(_ reader: JournalReader) { self.reader = reader }

  /// Appends the records that `prepare` returns. If there is room for some of them only, these may stay
  /// although an error is thrown: so each must be right without those that follow.
  ///
  /// `prepare` runs with an up-to-date index, while nobody else can append. Its records are padded,
  /// but have no sequence number and checksum yet. If it throws or returns none, nothing is
  /// appended.
  ///
  /// - Durability: survives the death of the process. `Compactor.sync` makes a record survive a loss
  ///   of power.
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
    let ready = try withSegment { state throws(StoreError) in
      let records = try prepare(&state)
      return records.isEmpty ? nil : records
    }
    guard let (segment, records) = ready else { return nil }
    return try write(records, to: segment)
  }

  /// Returns the segment to append to, and what `prepare` has made of an up-to-date index; `nil` if that is
  /// nothing. The caller holds the journal's lock.
  func withSegment<Records: Sendable>(
    _ prepare: (inout StoreState) throws(StoreError) -> Records?
  ) throws(StoreError) -> (Segment, Records)? {
    while true {
      let prepared = try reader.withCurrentState { state throws(StoreError) -> Records? in
        reader.followUnsealed(&state, place.lock.number)
        try reader.check(state)
        return try prepare(&state)
      }
      guard let prepared else { return nil }
      try beginSession()
      if let segment = try writableSegment() { return (segment, prepared) }
      reader.state.withLock { reader.reload(&$0) }
    }
  }

  /// Writes records at the end of a segment that has been read to its end, and applies them.
  ///
  /// - Throws: `metadataTooLarge` for a record that could not be read back.
  func write(_ records: [[UInt8]], to segment: Segment) throws(StoreError) -> AppendedPlace {
    if let longest = records.lazy.map(\.count).max(), longest > RecordFrame.maximumLength {
      throw StoreError(
        .metadataTooLarge, path: path,
        cause: "a record has \(longest) bytes, \(RecordFrame.maximumLength) are allowed",
        remedy: "store less in fields, user info and tags")
    }
    let (start, sequence) = try reader.state.withLock { state throws(StoreError) in
      // A thread that reads may have found that the journal cannot be read any more.
      guard state.journal.current?.number == segment.number
      else { throw .unreadable(journal.path(of: segment.number)) }
      return (state.journal.position, state.journal.sequence)
    }
    let bytes: [UInt8]
    do throws(StoreError) {
      bytes = try journal.write(records, to: segment, at: start, after: sequence)
    } catch {
      // Removals may stay, and the files of those entries are still there.
      if records.count > 1 { tree.staging.noteUnclean() }
      if reader.withCurrentState({ $0.journal.tornBytes > 0 }) {
        // The system refuses to cut it off (a quota). Only the session of a process that is gone shows
        // others that it is no damage.
        tree.staging.abandonSession()
      }
      throw error
    }
    let end = start + Int64(bytes.count)
    reader.state.withLock { state in
      // Another thread may have read the records already.
      guard state.journal.current === segment, state.journal.position == start else { return }
      apply(bytes, of: segment, to: &state)
    }
    return AppendedPlace(segment: segment, end: end)
  }

  /// Applies records that were written at the position of the current segment.
  func apply(_ bytes: [UInt8], of segment: Segment, to state: inout StoreState) {
    // Safety: the array outlives the call.
    unsafe bytes.withUnsafeBytes { buffer in
      var written = SegmentReader(
        segment.number, hashSeed: tree.hashSeed, from: state.journal.position)
      unsafe written.read(buffer) { reader.apply($0, of: segment, to: &state) }
    }
  }

  /// Does the same as `Compactor.sync` without writing the journal anew, for records that are not
  /// promised yet.
  func syncJournal(_ placed: AppendedPlace) throws(StoreError) {
    do throws(StoreError) { try syncJournalLocked(placed) } catch {
      showFailedSync()
      throw error
    }
  }

  /// Begins a segment whose header names the one that could not be synced. Then other processes promise
  /// nothing before that one is dropped.
  private func showFailedSync() {
    _ = try? journal.withLock { () throws(StoreError) in try showFailedSyncLocked() }
  }

  /// Does the same, for a caller that holds the journal's lock.
  func showFailedSyncLocked() throws(StoreError) {
    let isRead = reader.withCurrentState { state in
      reader.followUnsealed(&state, place.lock.number)
      return state.journal.unread == nil && !state.journal.needsReload && state.refusal == nil
    }
    // Records that cannot be read must not be overwritten.
    if isRead, journal.rollsNext.load(ordering: .relaxed) { _ = try writableSegment() }
  }

  /// Does the same as `syncJournal`, for a caller that holds the journal's lock. After a failure, the next
  /// record begins the segment that shows it.
  func syncJournalLocked(_ placed: AppendedPlace) throws(StoreError) {
    guard place.isDurable else { return }
    do throws(SystemError) {
      try journal.sync.wait(
        for: placed,
        among: { reader.state.withLock { $0.journal.segments.compactMap { $0?.segment } } },
        readTo: {
          reader.state.withLock {
            $0.journal.current === placed.segment ? max($0.journal.position, placed.end) : nil
          }
        }, in: place.journal, fileSystem)
    } catch {
      // The records after the last successful sync may not be on disk.
      let number = placed.segment.number
      if !reader.state.withLock({ $0.journal.isShownUnsynced(number) }) {
        journal.rollsNext.store(true, ordering: .relaxed)
      }
      let isRepeated = journal.sync.needsRenewal.exchange(true, ordering: .sequentiallyConsistent)
      tree.staging.noteUnclean()
      // Only once, because compaction syncs, too.
      if tree.durability != .full, !isRepeated { upkeep.request(.compact) }
      throw StoreError(error, path: journal.path(of: number))
    }
  }
}

/// The end of a record that was appended.
struct AppendedPlace {
  let segment: Segment
  let end: Int64
}
