internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// A failed syncfs(2). The system reports once that it could not write something, and counts those bytes
// as written: the next call succeeds without them. Until its segment is dropped, the record of a settled
// entry still carries the body, so the files can be written anew.
extension Catalog {
  /// Synchronizes all files of the volume, so that files of settled entries survive a loss of power.
  /// For a caller that holds a shard.
  ///
  /// - Throws: an error also if an earlier call failed, and the files are not written anew yet. The upkeep
  ///   does that next.
  func synchronizeVolume() throws(StoreError) {
    if hasUnwrittenFiles {
      upkeep.request(.compact)
      throw StoreError(
        .inputOutput, path: path,
        cause:
          "the system could not write some files to the disk, and they are not written anew yet",
        remedy: "check the disk, then try again")
    }
    try flushVolume()
  }

  /// Does the same after it has written the files anew that an earlier call may not have brought to the
  /// disk. The caller holds the lock of compaction, and no shard.
  ///
  /// - Complexity: O(1); after a failed call, O(all entries) until it succeeds once.
  func synchronizeSettled() throws(StoreError) {
    let isRepeated = hasUnwrittenFiles
    if isRepeated { try writeCarriedAnew() }
    try flushVolume()
    if !isRepeated { return }
    journal.hasUnwrittenFiles.store(false, ordering: .relaxed)
    try system("\(journal.path)/\(Layout.unwritten.text)") { () throws(SystemError) in
      do throws(SystemError) {
        try fileSystem.removeFile(Layout.unwritten, in: place.journal.raw)
      } catch  where error == .notFound {}
    }
  }

  /// Writes the files anew that a failed call may not have brought to the disk, if there are any. The
  /// caller holds no shard.
  ///
  /// - Parameter isWaiting: whether to wait if another thread or process is compacting.
  func resolveUnwrittenFiles(isWaiting: Bool) throws(StoreError) {
    if !hasUnwrittenFiles { return }
    try journal.withCompactionLock(isWaiting: isWaiting) { () throws(StoreError) in
      try synchronizeSettled()
    }
  }

  /// Synchronizes the volume, and notes a failure for all processes. The note itself need not reach the
  /// disk: after a restart of the machine, what can be read is what is on the disk.
  func flushVolume() throws(StoreError) {
    do throws(SystemError) { try fileSystem.synchronizeVolume(of: place.root.raw) } catch {
      do throws(SystemError) {
        _ = try fileSystem.open(Layout.unwritten, in: place.journal, [.write, .create])
      } catch { journal.hasUnwrittenFiles.store(true, ordering: .relaxed) }
      throw StoreError(error, path: path)
    }
  }

  /// Whether files that were written before a failed call may not be on the disk.
  var hasUnwrittenFiles: Bool {
    journal.hasUnwrittenFiles.load(ordering: .relaxed)
      || !fileSystem.isMissing(Layout.unwritten, in: place.journal.raw)
  }

  private func writeCarriedAnew() throws(StoreError) {
    var cursor = SlotCursor()
    while let located = cursor.next(in: self) {
      for place in located where place.slot.carriesBody && !place.slot.isUnsettled {
        if upkeep.isStopping { throw .closed(path) }
        try writeAnew(place)
      }
    }
  }
}
