internal import CacheFormat
internal import CacheSystem

/// The state of an open store, and the reading of the journal into it: all of it when the store is
/// opened, later the records that other processes (or threads of this one) have appended. No lock of
/// the journal is needed, so the last record may be half written.
///
/// `JournalReader+Apply` applies the records, `+Load` reads everything anew, `+Unsealed` finds
/// segments that follow one without a seal.
final class JournalReader: Sendable {
  let tree: Tree
  let place: StorePlace
  let journal: Journal
  let fileSystem: any FileSystem
  let hashSeed: UInt64
  let upkeep: Upkeep
  let state: Lock<StoreState>
  private let sharedTail: JournalTail

  init(_ tree: Tree, _ upkeep: Upkeep, _ options: Options) throws(StoreError) {
    self.tree = tree
    self.upkeep = upkeep
    place = tree.place
    journal = tree.journal
    fileSystem = tree.fileSystem
    hashSeed = tree.hashSeed
    let entries = EntriesDirectory(try place.openEntries(options))
    let state = StoreState(blockBytes: place.blockBytes, entries: entries, options)
    sharedTail = state.journal.sharedTail
    self.state = Lock(state, .store)
  }

  /// Compares the length of the journal with the part that has been read, without locking the
  /// state.
  ///
  /// - Returns: the end of the part that was read, if that was the whole journal; `nil` if there is
  ///   more to read.
  @inline(__always)
  func settledTail() -> JournalTail.Mark? {
    let mark = sharedTail.mark
    guard mark.file >= 0 else { return nil }
    if sharedTail.rests { return mark }
    guard let length = try? fileSystem.length(of: mark.file), length == mark.position
    else { return nil }
    sharedTail.rest()
    return mark
  }

  /// Calls the closure with the state, up to date with the journal, under its lock.
  @inline(__always)
  func withCurrentState<Result, Failure: Error>(
    _ body: (inout sending StoreState) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try state.withLock { state throws(Failure) in
      follow(&state)
      return try body(&state)
    }
  }

  /// Brings the index up to date, and closes with that the segments that others have dropped.
  func follow() { withCurrentState { _ in } }

  /// Brings the index up to date with the journal.
  ///
  /// - Complexity: one ioctl(2) if there is nothing new.
  @inline(__always)
  func follow(_ state: inout StoreState) {
    guard state.journal.tail.file >= 0 else {
      if state.journal.needsReload { reload(&state) } else { findSegment(&state) }
      return
    }
    guard let length = try? fileSystem.length(of: state.journal.tail.file),
      length == state.journal.tail.position, state.journal.unread == nil
    else {
      readNew(&state) { readOn(&$0) }
      watchOthers(state)
      return
    }
  }

  /// Reads new records with `read`. If that shows that records are missing, or that a segment was dropped
  /// which had not been read, everything is read again, and repaired, as when the store is opened.
  func readNew(_ state: inout StoreState, _ read: (inout StoreState) -> Void) {
    if isCutOff(&state) { return readCutOff(&state) }
    let (coverage, damages) = (state.journal.coverage, state.journal.damages)
    read(&state)
    let isNewlyDamaged =
      state.isOpened && coverage != .partial && state.journal.coverage == .partial
    if !isNewlyDamaged && !state.journal.needsReload { return noteCutOff(&state) }
    state.journal.damages = damages
    reload(&state)
  }

  /// Makes sure that what others have stored in the log is settled also if they are killed.
  private func watchOthers(_ state: borrowing StoreState) {
    guard journal.settlingDelay > 0, state.isOpened, state.index.totals.unsettledEntries > 0
    else { return }
    // They go first.
    upkeep.requestSettling(after: 2 * journal.settlingDelay + 1_000_000_000)
  }

  /// Brings the index up to date, unless `settledTail` has shown that it is.
  ///
  /// The descriptor of a mark may have been closed meanwhile, and its number used for another file.
  /// But then the segment is no longer the last one, and the state has another mark.
  @inline(__always)
  func follow(_ state: inout StoreState, after settled: JournalTail.Mark?) {
    if settled == nil || settled != state.journal.tail {
      follow(&state)
    } else {
      followUnsealed(&state)
    }
  }

  /// Looks for the segment that another process may have begun while there was none to read.
  ///
  /// - Complexity: O(segments); only while the journal is empty, or its last segment is damaged.
  private func findSegment(_ state: inout StoreState) {
    readNew(&state) { state in
      guard !state.journal.segments.isEmpty else {
        do throws(StoreError) { try load(&state) } catch { setUnreadable(&state, error) }
        return
      }
      do throws(StoreError) {
        let segment = try journal.open(state.journal.endNumber)
        state.journal.remainder = .read()
        // One without records was left by a process that was killed just after it had made it.
        guard journal.hasRecords(segment) else { return }
        state.journal.segments.append(SegmentUse(segment: segment))
        readOn(&state)
      } catch {
        let cause = SystemError(error.errno)
        if cause.mayPass { return setUnread(&state, cause) }
        state.journal.remainder = .read()
        refuse(&state, error)
      }
    }
  }

  /// Closes the store for this program if the error means that the store has a newer format now.
  func refuse(_ state: inout StoreState, _ error: StoreError) {
    guard error.code == .newerFormat else { return }
    state.refusal = error
    state.isClosed = true
    upkeep.end()
  }

  /// Reads all new records.
  func readOn(_ state: inout StoreState) {
    // The place of damage that was found once. The bytes may have been cut off and written again
    // while they were read, so damage counts when it is found again.
    var suspected: Int64?
    if let next = state.journal.last?.next { openNext(&state, next) }
    while let use = state.journal.last, !use.isSealed {
      guard let fileLength = try? fileSystem.length(of: use.segment.file.raw) else {
        setUnread(&state, .inputOutput)
        return
      }
      let length = refusedCut(of: use.segment, &state) ?? fileLength
      setReadable(&state)
      if length <= use.readBytes {
        // Less than was read: the next call finds that it was cut off.
        state.journal.remainder = .read(torn: fileLength - length)
        return
      }
      var hasTail = false
      var looksAgain = false
      do throws(SystemError) {
        var reader = SegmentReader(
          use.segment.number, hashSeed: hashSeed, from: use.readBytes)
        let end = min(length, Journal.maximumSegmentBytes)
        try reader.read(use.segment.file, upTo: end, fileSystem) { item in
          if case .tail = item { hasTail = true }
          if case .damage(let range) = item, state.isOpened, suspected != range.lowerBound {
            suspected = range.lowerBound
            looksAgain = true
            return false
          }
          return apply(item, of: use.segment, to: &state)
        }
      } catch {
        setUnread(&state, error)
        return
      }
      if looksAgain { continue }
      if hasTail || state.journal.needsReload { return }
    }
  }

  /// Returns whether somebody has cut off a part of the journal that had been read here.
  private func isCutOff(_ state: inout StoreState) -> Bool {
    guard let use = state.journal.last, !use.isSealed,
      let length = try? fileSystem.length(of: use.segment.file.raw)
    else { return false }
    return min(length, refusedCut(of: use.segment, &state) ?? length) < use.readBytes
  }

  /// Reads the journal again after a part was cut off. Others do not have its records.
  private func readCutOff(_ state: inout StoreState) {
    state.journal.sequenceBeforeCut = max(state.journal.sequenceBeforeCut, state.journal.sequence)
    if let cut = state.journal.current { journal.sync.forget(from: cut.number) }
    reload(&state)
    upkeep.request(.reconcile)
  }

  /// Makes the journal count as damaged if records are missing now that were cut off, once it could be
  /// read again.
  func noteCutOff(_ state: inout StoreState) {
    let sequence = state.journal.sequenceBeforeCut
    if sequence == 0 || state.journal.needsReload || state.journal.unread != nil { return }
    if state.journal.sequence < sequence {
      if state.journal.isWhole, (try? noteLostRecords(&state, through: sequence)) == nil { return }
      // The records were lost at the end of what is left, not when the store was opened.
      state.journal.setNotWhole()
      state.journal.sequence = max(state.journal.sequence, sequence)
    }
    state.journal.sequenceBeforeCut = 0
  }

  /// Returns the end of what counts of the last segment, if the system refuses to cut off the rest; `nil` also
  /// once others have cut it off.
  func refusedCut(of segment: Segment, _ state: inout StoreState) -> Int64? {
    guard let cut = state.journal.refusedCut, cut.number == segment.number else { return nil }
    guard let status = try? fileSystem.status(of: segment.file.raw), !cut.isPending(status)
    else { return cut.end }
    state.journal.refusedCut = nil
    return nil
  }

  /// Notes that the end of the journal cannot be read now.
  func setUnread(_ state: inout StoreState, _ error: SystemError) {
    // Asked for once only, so that the upkeep does not begin again for ever.
    if state.journal.unread == nil && !state.journal.hasGivenUp { upkeep.request(.reconcile) }
    // Torn bytes count no more: others may have cut them off, and appended in their place.
    state.journal.remainder = .unread(error)
  }

  private func setReadable(_ state: inout StoreState) {
    state.journal.hasGivenUp = false
    guard case .unread = state.journal.remainder else { return }
    state.journal.remainder = .read()
    if state.isComplete { state.journal.confirmed = [] }
  }

  /// Continues with the next segment. If the system cannot open it now, `readOn` does it later.
  func openNext(_ state: inout StoreState, _ number: UInt32) {
    do throws(StoreError) {
      let segment = try journal.open(number)
      if number == state.journal.endNumber {
        state.journal.segments.append(SegmentUse(segment: segment))
        return
      }
    } catch {
      refuse(&state, error)
      if state.refusal != nil { return }
      let cause = SystemError(error.errno)
      if cause.isForNow { return setUnread(&state, cause) }
    }
    state.journal.remainder = .outdated()
  }

  /// Throws an error if the store is closed, or if the end of the journal cannot be read. Records that
  /// are there must not be overwritten, nor files that they name.
  func check(_ state: borrowing StoreState) throws(StoreError) {
    try state.checkOpen(tree.path)
    guard let error = state.journal.unread else { return }
    throw StoreError(
      error, path: state.journal.current.map { journal.path(of: $0.number) } ?? journal.path)
  }

  /// Throws an error if the store is closed, or if the end of the journal cannot be read.
  func checkReadable() throws(StoreError) {
    try withCurrentState { state throws(StoreError) in try check(state) }
  }
}
