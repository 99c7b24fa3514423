internal import CacheSystem
internal import Synchronization

/// Group commit: one sync of the journal for all threads that wait for it.
///
/// The first thread syncs. Threads that come meanwhile wait, and then one of them syncs for all of
/// them. Before that, it may wait for those that the last sync has released (`SyncGathering`).
final class JournalSync: Sendable {
  private struct State {
    /// The position up to which each segment is on disk.
    var synced: [UInt32: Int64] = [:]
    var isSyncing = false
    /// The segments whose sync failed. No more records in them may be promised.
    var failed: [UInt32: SystemError] = [:]
    /// The records whose threads wait.
    var waiting: [Place] = []
    var gathering = SyncGathering()
    /// The number of threads for which the one that syncs waits; 0 if it does not.
    var wanted = 0
    /// How often a part of the journal was found to be cut off.
    var cuts = 0

    /// Returns whether a record is on disk; `nil` if it has to be synced, the error if it cannot be.
    func outcome(of place: Place) -> Result<Turn, SystemError>? {
      if let synced = synced[place.segment], synced >= place.end { return .success(.done) }
      return failed[place.segment].map { .failure($0) }
    }
  }

  /// The end of a record.
  private struct Place: Equatable {
    let segment: UInt32
    let end: Int64
  }

  private let state = Monitor(State())
  /// Whether all threads have come for which the one that syncs waits.
  private let isGathered = Monitor(false)
  /// Whether a sync has failed, so that the journal has to be written anew before the next record
  /// is promised.
  let needsRenewal = Atomic<Bool>(false)
  /// Held by the thread that writes the journal anew, while others wait.
  let renewal = Mutex<Void>(())

  /// The oldest segment whose sync has failed, or 0.
  var oldestFailed: UInt32 { state.wait { $0.failed.keys.min() ?? 0 } }

  /// Forgets the failed syncs of segments that were dropped, also by other processes.
  func forgetFailed(before first: UInt32) {
    state.change { state in state.failed = state.failed.filter { $0.key >= first } }
  }

  /// Forgets what is on disk of segments from a number on, because a part was cut off.
  func forget(from number: UInt32) {
    state.change { state in
      state.synced = state.synced.filter { $0.key < number }
      state.cuts += 1
    }
  }

  /// The number of threads that wait.
  var waitingCount: Int { state.wait { $0.waiting.count } }

  /// Waits until everything up to `place` is on disk.
  ///
  /// This includes the segments before it. If there were a gap between them, the journal would not
  /// be whole, and the tree would decide, whose files are not all synced.
  ///
  /// - Parameters:
  ///   - segments: returns the open segments of the journal.
  ///   - position: returns the end of what was read of the segment; `nil` if another one follows it. What
  ///     comes after may be cut off, and written again by others.
  /// - Throws: the error of the sync. Then no more records in the segment can be promised.
  func wait(
    for place: AppendedPlace, among segments: () -> [Segment], readTo position: () -> Int64?,
    in directory: borrowing Descriptor, _ fileSystem: any FileSystem
  ) throws(SystemError) {
    let number = place.segment.number
    let mine = try turn(at: Place(segment: number, end: place.end))
    if mine == .done { return }
    let start = monotonicNanoseconds()
    let cuts = state.wait { $0.cuts }
    var outcome: Result<Int64, SystemError> = .success(0)
    if mine == .syncFirst {
      let older = segments().filter { $0.number < number }
      if let error = syncOlder(older, fileSystem) { outcome = .failure(error) }
    }
    if case .success = outcome {
      let end = position() ?? .max
      outcome = sync(place.segment, mine, directory, fileSystem).map { min($0, end) }
    }
    state.change { state in
      state.isSyncing = false
      state.gathering.end(
        waiting: state.waiting.count, nanoseconds: monotonicNanoseconds() - start)
      switch outcome {
      case .success(let end):
        if state.cuts == cuts { state.synced[number] = max(state.synced[number] ?? 0, end) }
      case .failure(let error):
        state.failed[number] = error
      }
      let own = Place(segment: number, end: place.end)
      state.waiting = state.waiting.filter { $0 != own && state.outcome(of: $0) == nil }
      // Only now: a thread that waited for the oldest segment may have left already.
      if state.synced.count > 8 { state.synced[state.synced.keys.min() ?? 0] = nil }
    }
    _ = try outcome.get()
  }

  private enum Turn { case done, sync, syncFirst }

  /// Waits until a record is on disk, or this thread has to sync it.
  private func turn(at place: Place) throws(SystemError) -> Turn {
    let isLast = state.wait { state in
      if state.outcome(of: place) == nil { state.waiting.append(place) }
      return state.wanted > 0 && state.waiting.count >= state.wanted
    }
    if isLast { isGathered.change { $0 = true } }
    let (turn, wish) = state.wait { state -> (Result<Turn, SystemError>, SyncGathering.Wish?)? in
      if let outcome = state.outcome(of: place) { return (outcome, nil) }
      if state.isSyncing { return nil }
      state.isSyncing = true
      let wish = state.gathering.begin(waiting: state.waiting.count)
      state.wanted = wish?.threads ?? 0
      return (.success(state.synced[place.segment] == nil ? .syncFirst : .sync), wish)
    }
    if let wish { gather(wish) }
    return try turn.get()
  }

  /// Waits until other threads have come, but not for long.
  private func gather(_ wish: SyncGathering.Wish) {
    let isComplete = isGathered.wait(nanoseconds: wish.nanoseconds) { $0 ? true : nil } ?? false
    isGathered.change { $0 = false }
    state.wait { state in
      state.wanted = 0
      if !isComplete { state.gathering.missed() }
    }
  }

  /// Syncs the parts of older segments that this process has not synced, also those of other
  /// processes. A segment whose sync has failed once is left out: that error was reported, and a
  /// second sync would prove nothing.
  private func syncOlder(_ older: [Segment], _ fileSystem: any FileSystem) -> SystemError? {
    for segment in older {
      let number = segment.number
      let (synced, failed) = state.wait { ($0.synced[number], $0.failed[number]) }
      if failed != nil { continue }
      do throws(SystemError) {
        let end = try fileSystem.length(of: segment.file.raw)
        if end == synced { continue }
        try fileSystem.synchronize(segment.file, names: false)
        state.change { $0.synced[number] = end }
      } catch {
        state.change { $0.failed[number] = error }
        return error
      }
    }
    return nil
  }

  private func sync(
    _ segment: Segment, _ turn: Turn, _ directory: borrowing Descriptor,
    _ fileSystem: any FileSystem
  ) -> Result<Int64, SystemError> {
    do throws(SystemError) {
      let end = try fileSystem.length(of: segment.file.raw)
      // The segment may have been made by a process that does not sync, so its name is synced once.
      try fileSystem.synchronize(segment.file, names: turn == .syncFirst)
      if turn == .syncFirst { try fileSystem.synchronize(directory, names: true) }
      return .success(end)
    } catch { return .failure(error) }
  }
}
