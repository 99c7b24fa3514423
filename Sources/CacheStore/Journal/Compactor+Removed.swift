internal import CacheFormat
internal import CacheSystem

// Removed entries when the journal drops their records. Until then the records say that the entries
// were removed, also if a loss of power brings their files back and damages the end of the journal.
extension Compactor {
  /// Makes sure that the entries whose put records are in a segment, and that the index no longer
  /// has, stay away without these records: syncs the directories from which their metadata files
  /// were removed. Does nothing if nobody has used the store with full durability.
  ///
  /// - Returns: false if a metadata file is there yet, because another thread or process is just
  ///   removing or storing that entry, or because the file could not be removed.
  /// - Complexity: O(length of the segment), and one sync for each shard, and for each key that has
  ///   other variants.
  func makeRemovalsDurable(of number: UInt32) throws(StoreError) -> Bool {
    let (found, entries) = reader.state.withLock { ($0.journal.segment(number), $0.entries) }
    guard place.isDurable, let segment = found else { return true }
    var shards: Set<Int> = []
    var isDurable = true
    var failure: StoreError?
    var records = SegmentReader(number, hashSeed: tree.hashSeed, from: Int64(SegmentHeader.count))
    do throws(SystemError) {
      let length = try fileSystem.length(of: segment.file.raw)
      try records.read(segment.file, upTo: length, fileSystem) { item in
        guard case .record(let header, let bytes, _) = item, header.type == .put
        else { return true }
        guard let head = unsafe PutHead(header.payload(of: bytes)), !isKnown(head)
        else { return true }
        do throws(StoreError) {
          isDurable = try isGone(head, entries, &shards)
        } catch { failure = error }
        return isDurable && failure == nil
      }
    } catch {
      // A segment that cannot be read has no records for anybody, but does not say either which
      // directories have to be synced.
      try settler.volumeSync.synchronize()
    }
    if let failure { throw failure }
    for shard in shards where isDurable {
      try system("\(path)/entries/\(Layout.shard(shard).text)") { () throws(SystemError) in
        let directory = try fileSystem.open(
          Layout.shard(shard), in: entries.directory, [.read, .directory])
        try fileSystem.synchronize(directory, names: true)
      }
    }
    return isDurable
  }

  private func isKnown(_ head: PutHead) -> Bool {
    reader.withCurrentState { $0.index.find(head.keyHash, head.variant) != nil }
  }

  /// Returns whether the metadata file of a removed entry is gone. Syncs the directory of its key, or
  /// notes the shard if there is none.
  private func isGone(
    _ head: PutHead, _ entries: EntriesDirectory, _ shards: inout Set<Int>
  ) throws(StoreError) -> Bool {
    let hash = head.keyHash
    let shard = Layout.shardNumber(of: hash)
    if fileSystem.isMissing(Layout.shard(shard), in: entries.directory.raw) { return true }
    if !fileSystem.isMissing(
      Layout.metadataPath(hash, head.variant), in: entries.directory.raw)
    {
      // A thread or process that stores or removes the entry now has locked the shard. If nobody
      // has, an earlier removal could not remove the file.
      let isRemoved = try tree.tryWithShard(of: hash, in: entries) { _ throws(StoreError) in
        isKnown(head)
          || (try? fileSystem.removeFile(
            Layout.metadataPath(hash, head.variant), in: entries.directory.raw)) != nil
      }
      if isRemoved != true { return false }
    }
    if let directory = try tree.openKey(hash, at: Layout.keyPath(hash), in: entries.directory) {
      try system("\(path)/entries/\(Layout.keyPath(hash).text)") { () throws(SystemError) in
        try fileSystem.synchronize(directory, names: true)
      }
    }
    shards.insert(shard)
    return true
  }
}
