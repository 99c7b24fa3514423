internal import CacheSystem

/// Group commit: one sync of the journal serves all the threads that wait for it.
///
/// The first thread that comes syncs; those that come meanwhile wait, and one of them syncs for all
/// the others.
final class JournalSync: Sendable {
  private struct State {
    /// How far each segment is known to be on disk.
    var synced: [UInt32: Int64] = [:]
    var isSyncing = false
    /// The segments whose sync failed: nothing more in them may ever be promised.
    var failed: [UInt32: SystemError] = [:]
  }

  private let state = Monitor(State())

  /// Returns when everything up to `place` is on disk.
  ///
  /// - Throws: the error of the sync; the segment then takes no further promise.
  func wait(
    for place: AppendedPlace, in directory: borrowing Descriptor, _ fileSystem: any FileSystem
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
    let outcome = sync(place.segment, mine, directory, fileSystem)
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

  private func sync(
    _ segment: Segment, _ turn: Turn, _ directory: borrowing Descriptor,
    _ fileSystem: any FileSystem
  ) -> Result<Int64, SystemError> {
    do throws(SystemError) {
      let end = try fileSystem.length(of: segment.file.raw)
      // The segment may have been made by a process that does not sync: its name is made sure once.
      try fileSystem.synchronize(segment.file, names: turn == .syncFirst)
      if turn == .syncFirst { try fileSystem.synchronize(directory, names: true) }
      return .success(end)
    } catch { return .failure(error) }
  }
}
