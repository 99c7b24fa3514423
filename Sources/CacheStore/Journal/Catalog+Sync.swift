internal import CacheSystem
internal import Synchronization

// Syncing the journal, for stores that survive loss of power.
extension Catalog {
  /// Waits until a record is on disk, where that was promised.
  func sync(_ placed: AppendedPlace) throws(StoreError) {
    guard durability == .full else { return }
    try syncJournal(placed)
    try renewAfterFailedSync()
  }

  /// As `sync`, for records of which nothing is promised yet.
  func syncJournal(_ placed: AppendedPlace) throws(StoreError) {
    guard durability == .full else { return }
    do throws(SystemError) {
      try journal.sync.wait(
        for: placed, among: { state.withLock { $0.journal.segments.compactMap { $0?.segment } } },
        in: place.journal, fileSystem)
    } catch {
      // What the segment holds beyond the last good sync is not to be relied on.
      journal.rollsNext.store(true, ordering: .relaxed)
      journal.sync.needsRenewal.store(true, ordering: .sequentiallyConsistent)
      tree.staging.noteUnclean()
      throw StoreError(
        error, path: "\(path)/journal/\(Layout.segment(placed.segment.number).text)")
    }
  }

  /// After a failed sync: writes the journal anew, and makes sure that the old one is gone. A gap in
  /// it, where the records of that sync were, would let the tree decide on what came later.
  ///
  /// - Complexity: O(1), but after a failed sync O(all entries) once.
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
