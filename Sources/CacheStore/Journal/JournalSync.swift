internal import CacheSystem
internal import Synchronization

/// Group commit: one sync of the journal for all threads that wait for it.
///
/// The first thread syncs. Threads that come meanwhile wait, and then one of them syncs for all of
/// them.
final class JournalSync: Sendable {
  private struct State {
    /// The position up to which each segment is on disk.
    var synced: [UInt32: Int64] = [:]
    var isSyncing = false
    /// The segments whose sync failed. No more records in them may be promised.
    var failed: [UInt32: SystemError] = [:]
  }

  private let state = Monitor(State())
  /// Whether a sync has failed, so that the journal has to be written anew before the next record
  /// is promised.
  let needsRenewal = Atomic<Bool>(false)
  /// Held by the thread that writes the journal anew, while others wait.
  let renewal = Mutex<Void>(())

  /// The oldest segment whose sync has failed, or 0.
  var oldestFailed: UInt32 { state.wait { $0.failed.keys.min() ?? 0 } }

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
    let turn: Result<Turn, SystemError> = state.wait { state in
      if let synced = state.synced[number], synced >= place.end { return .success(.done) }
      if let error = state.failed[number] { return .failure(error) }
      if state.isSyncing { return nil }
      state.isSyncing = true
      return .success(state.synced[number] == nil ? .syncFirst : .sync)
    }
    let mine = try turn.get()
    if mine == .done { return }
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
      switch outcome {
      case .success(let end):
        state.synced[number] = max(state.synced[number] ?? 0, end)
        if state.synced.count > 8 { state.synced[state.synced.keys.min() ?? 0] = nil }
      case .failure(let error):
        state.failed[number] = error
      }
    }
    _ = try outcome.get()
  }

  private enum Turn { case done, sync, syncFirst }

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
