internal import CacheSystem
internal import Synchronization

// Syncing the journal, for stores with full durability.
extension Catalog {
  /// Waits until a record is on disk, if the store has full durability. After a failed sync, writes
  /// the journal anew.
  func sync(_ placed: AppendedPlace) throws(StoreError) {
    guard durability == .full else { return }
    try tree.synchronizeMovedBack()
    try syncJournal(placed)
    try renewAfterFailedSync()
  }

  /// Does the same as `sync` without writing the journal anew, for records that are not promised
  /// yet.
  func syncJournal(_ placed: AppendedPlace) throws(StoreError) {
    guard durability == .full else { return }
    do throws(SystemError) {
      try journal.sync.wait(
        for: placed, among: { state.withLock { $0.journal.segments.compactMap { $0?.segment } } },
        readTo: {
          state.withLock {
            $0.journal.current === placed.segment ? max($0.journal.position, placed.end) : nil
          }
        }, in: place.journal, fileSystem)
    } catch {
      // The records after the last successful sync may not be on disk.
      journal.rollsNext.store(true, ordering: .relaxed)
      journal.sync.needsRenewal.store(true, ordering: .sequentiallyConsistent)
      tree.staging.noteUnclean()
      throw StoreError(error, path: journal.path(of: placed.segment.number))
    }
  }

  /// Writes the journal anew after a failed sync, and makes sure that the old segments are gone.
  /// Otherwise, if the records of that sync were missing after a crash, the tree would decide on
  /// later entries.
  ///
  /// - Complexity: O(1); after a failed sync, O(all entries) once.
  func renewAfterFailedSync() throws(StoreError) {
    guard journal.sync.needsRenewal.load(ordering: .sequentiallyConsistent) else { return }
    try journal.sync.renewal.withLock { _ throws(StoreError) in
      guard journal.sync.needsRenewal.load(ordering: .sequentiallyConsistent) else { return }
      try renewJournal()
      if !state.withLock({ $0.journal.isWhole }) {
        throw StoreError(
          .inputOutput, path: "\(path)/journal",
          cause: "it cannot be written anew after a failed sync",
          remedy: "check the disk, then open the store again")
      }
      try system("\(path)/journal") { () throws(SystemError) in
        try fileSystem.synchronize(place.journal, names: true)
      }
      journal.sync.needsRenewal.store(false, ordering: .sequentiallyConsistent)
    }
  }
}
