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
    let failures = journal.volumeFailures.withLock { $0 }
    if hasUnwrittenFiles {
      upkeep.request(.compact)
      throw Self.unwritten(path)
    }
    try flushVolume(unlessFailedSince: failures)
  }

  /// Does the same after it has written the files anew that an earlier call may not have brought to the
  /// disk. The caller holds the lock of compaction, and no shard.
  ///
  /// - Complexity: O(1); after a failed call, O(all entries) until it succeeds once.
  func synchronizeSettled() throws(StoreError) {
    let failures = journal.volumeFailures.withLock { $0 }
    let isRepeated = hasUnwrittenFiles
    if isRepeated { try writeCarriedAnew() }
    try flushVolume(unlessFailedSince: failures, endsRepetition: isRepeated)
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
  ///
  /// - Parameters:
  ///   - failures: the number of failures before the caller asked for files to be written anew. After
  ///     another one it must ask again.
  ///   - endsRepetition: whether the files are written anew, so that the note is removed.
  func flushVolume(
    unlessFailedSince failures: Int? = nil, endsRepetition: Bool = false
  ) throws(StoreError) {
    try journal.volumeFailures.withLock { count throws(StoreError) in
      if let failures, failures != count { throw Self.unwritten(path) }
      do throws(SystemError) { try fileSystem.synchronizeVolume(of: place.root.raw) } catch {
        count += 1
        do throws(SystemError) {
          _ = try fileSystem.open(Layout.unwritten, in: place.journal, [.write, .create])
        } catch { journal.hasUnwrittenFiles.store(true, ordering: .relaxed) }
        throw StoreError(error, path: path)
      }
      guard endsRepetition else { return }
      journal.hasUnwrittenFiles.store(false, ordering: .relaxed)
      try system("\(journal.path)/\(Layout.unwritten.text)") { () throws(SystemError) in
        do throws(SystemError) {
          try fileSystem.removeFile(Layout.unwritten, in: place.journal.raw)
        } catch  where error == .notFound {}
      }
    }
  }

  private static func unwritten(_ path: String) -> StoreError {
    StoreError(
      .inputOutput, path: path,
      cause: "the system could not write some files to the disk, and they are not written anew yet",
      remedy: "check the disk, then try again")
  }

  /// Whether files that were written before a failed call may not be on the disk.
  var hasUnwrittenFiles: Bool {
    journal.hasUnwrittenFiles.load(ordering: .relaxed)
      || !fileSystem.isMissing(Layout.unwritten, in: place.journal.raw)
  }

  /// Metadata files with bodies are left out: compaction copies their whole records.
  private func writeCarriedAnew() throws(StoreError) {
    var cursor = SlotCursor()
    var written: [BodyName: UInt64] = [:]
    while let located = cursor.next(in: self) {
      for place in located {
        let slot = place.slot
        guard slot.carriesBody, !slot.isUnsettled, !slot.isEmbedded else { continue }
        if upkeep.isStopping { throw .closed(path) }
        try writeAnew(place, &written)
      }
    }
  }
}

/// The name of a body file: the key, and the digest.
struct BodyName: Hashable {
  let hash: KeyHash
  let digest: Digest
}
