internal import CacheSystem
internal import Synchronization

// Syncing the journal, for stores with full durability.
extension Compactor {
  /// Waits until a record is on disk, if the store has full durability. After a failed sync, writes
  /// the journal anew.
  func sync(_ placed: AppendedPlace) throws(StoreError) {
    guard tree.durability == .full else { return }
    try tree.synchronizeMovedBack()
    try writer.syncJournal(placed)
    try renewAfterFailedSync()
  }

  /// Writes the journal anew after a failed sync, and makes sure that the old segments are gone.
  /// Otherwise, if the records of that sync were missing after a crash, the tree would decide on
  /// later entries.
  ///
  /// - Complexity: O(1); after a failed sync, O(all entries) once.
  func renewAfterFailedSync() throws(StoreError) {
    guard needsRenewal else { return }
    try journal.sync.renewal.withLock { _ throws(StoreError) in
      guard needsRenewal else { return }
      if try !renewJournal() {
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

  /// Whether a sync has failed, in this process or another one, and the journal is not written anew yet.
  /// One that is not whole is written anew by the recovery.
  private var needsRenewal: Bool {
    journal.sync.needsRenewal.load(ordering: .sequentiallyConsistent)
      || reader.withCurrentState { $0.isIndexWhole && $0.journal.hasUnsynced }
  }
}
