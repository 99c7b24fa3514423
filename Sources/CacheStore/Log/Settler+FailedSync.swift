internal import CacheFormat
internal import CacheSystem

// Writing the files of settled entries anew, after a sync of the volume has failed.
extension Settler {
  /// Synchronizes all files of the volume, after it has written the files anew that an earlier call may
  /// not have brought to the disk. The caller holds the lock of compaction, and no shard.
  ///
  /// - Complexity: O(1); after a failed call, O(all entries) until it succeeds once.
  func synchronizeSettled() throws(StoreError) {
    let failures = volumeSync.failureCount
    let isRepeated = volumeSync.hasUnwrittenFiles
    if isRepeated { try writeCarriedAnew() }
    try volumeSync.flush(unlessFailedSince: failures, endsRepetition: isRepeated)
  }

  /// Writes the files anew that a failed call may not have brought to the disk, if there are any. The
  /// caller holds no shard.
  ///
  /// - Parameter isWaiting: whether to wait if another thread or process is compacting.
  func resolveUnwrittenFiles(isWaiting: Bool) throws(StoreError) {
    if !volumeSync.hasUnwrittenFiles { return }
    try journal.withCompactionLock(isWaiting: isWaiting) { () throws(StoreError) in
      try synchronizeSettled()
    }
  }

  /// Metadata files with bodies are left out: compaction copies their whole records.
  private func writeCarriedAnew() throws(StoreError) {
    var cursor = SlotCursor()
    var written: [BodyName: UInt64] = [:]
    while let located = cursor.next(in: catalog) {
      for place in located {
        let slot = place.slot
        guard slot.carriesBody, !slot.isUnsettled, !slot.isEmbedded else { continue }
        if upkeep.isStopping { throw .closed(tree.path) }
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
