internal import CacheFormat
internal import CacheSystem

// Writing the files of one entry.
extension Settler {
  /// An entry that only the log has.
  struct Logged {
    var slot: Slot
    var entries: EntriesDirectory
    var record: PutRecord
    var body: [UInt8]
  }

  /// Which files an entry has that is settled.
  enum Standing {
    /// The entry has none yet.
    case none
    /// It has files, which are damaged.
    case again
    /// It has files, which must not be used, because they may never reach the disk; unless another variant
    /// has the body file, and it was written anew with this number.
    case anew(file: UInt64?)

    var isSettled: Bool { if case .none = self { false } else { true } }
  }

  /// Writes the files of one entry, and appends the record of it, under the lock of its shard. Does
  /// nothing if the entry was replaced or removed meanwhile.
  ///
  /// - Returns: the body file, if it was written.
  @discardableResult
  func settle(
    _ entry: Logged, _ standing: Standing = .none
  ) throws(StoreError) -> PlacedBody? {
    let session = try writer.ownSession()
    return try catalog.withShard(of: entry.slot.keyHash) { shard throws(StoreError) in
      // What it has replaced goes first, so that both never take more than is counted.
      tree.staging.deleteReplaced(entry.slot.keyHash)
      let before = try reader.withCurrentState { state throws(StoreError) -> Before? in
        try reader.check(state)
        guard shard.entries === entry.entries, state.entries === entry.entries,
          let number = state.number(of: entry.slot),
          state.index[number].isUnsettled != standing.isSettled
        else { return nil }
        return Before(&state, settling: state.index[number])
      }
      guard let before else { return nil }
      return try settle(entry, before, in: shard, session, standing)
    }
  }

  private func settle(
    _ entry: Logged, _ before: Before, in shard: borrowing Shard, _ session: Session,
    _ standing: Standing
  ) throws(StoreError) -> PlacedBody? {
    try catalog.withKeyFiles(
      entry.slot.keyHash, shard, staging: session, isKnown: before.hasFiles, isSynced: false
    ) { keyFiles throws(StoreError) -> PlacedBody? in
      let head = entry.record.head
      let new = NewEntry(
        key: entry.record.key, variant: head.variant, metadata: entry.record.metadata,
        digest: head.digest, length: head.length, body: .bytes(entry.body))
      let isEmbedded = head.isEmbedded
      let body =
        isEmbedded
        ? PlacedBody(digest: head.digest, file: 0)
        : try placeBody(of: new, before, standing, in: &keyFiles)
      let document = try tree.document(
        for: StoredEntry(entry.record), sequence: entry.record.sequence,
        isEmbedded ? entry.body : nil)
      try keyFiles.placeMetadata(document, head.variant, replacing: false)
      // The record of an entry whose body has another name now is written anew, without the body.
      if body.digest != head.digest, place.isDurable { try volumeSync.synchronize() }
      let entries = shard.entries
      let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
        guard state.entries === entries, let number = state.number(of: entry.slot),
          state.index[number].isUnsettled != standing.isSettled
        else { return [] }
        return [
          settledRecord(entry, body, tree.overhead(document.count), state.index[number].accessed)
        ]
      }
      // Compaction may have copied the record of the entry meanwhile, which still needs its files.
      if placed == nil, !standing.isSettled || !isSettled(entry, body, in: entries) { return nil }
      keyFiles.keep()
      return body
    }
  }

  /// Makes sure that the directory of the key has the body; if it must be written anew, in a file that
  /// reaches the disk with the next sync of the volume, or is there already.
  private func placeBody(
    of new: NewEntry, _ before: Before, _ standing: Standing, in keyFiles: inout KeyFiles
  ) throws(StoreError) -> PlacedBody {
    guard case .anew(let file) = standing else { return try keyFiles.placeBody(new, before) }
    var before = before
    if before.sharing?.slot.carriesBody == true { before.sharing = nil }
    // Another variant may have the file without the body in its record. Then it is on the disk.
    let isOnDisk = before.others.contains {
      $0.hasBodyFile && $0.digest == new.digest && !$0.carriesBody && !$0.isUnsettled
    }
    if file == nil, !isOnDisk {
      tree.discard(Layout.body(new.digest), in: keyFiles.directory.raw)
    }
    var body = try keyFiles.placeBody(new, before)
    if let file, body.digest == new.digest { body.file = file }
    return body
  }

  /// Returns whether the index has an entry as settled, with the body file that was just placed.
  private func isSettled(
    _ entry: Logged, _ body: PlacedBody, in entries: EntriesDirectory
  ) -> Bool {
    let digest = entry.record.head.digest
    return reader.state.withLock { state in
      guard body.digest == digest, state.entries === entries,
        let number = state.index.find(entry.slot.keyHash, entry.slot.variant)
      else { return false }
      return !state.index[number].isUnsettled && state.index[number].digest == digest
    }
  }

  private func settledRecord(
    _ entry: Logged, _ body: PlacedBody, _ overhead: UInt32, _ accessed: Int64
  ) -> [UInt8] {
    var head = entry.record.head
    if body.digest == head.digest {
      return SettledRecord(
        keyHash: head.keyHash, variant: head.variant, segment: entry.slot.segment,
        offset: entry.slot.offset, bodyFile: body.file, overhead: overhead
      ).bytes
    }
    head.digest = body.digest
    head.bodyFile = body.file
    head.overhead = overhead
    head.accessed = Timestamp(nanoseconds: accessed)
    head.carriesBody = false
    return PutRecord(head: head, key: entry.record.key, metadata: entry.record.metadata).bytes
  }

  /// Writes the files of a settled entry again whose record carries the body, unless they are intact.
  /// They are not synced when they are written, so a loss of power may have damaged them.
  ///
  /// - Parameter sparesForeign: whether a metadata file of another store or of a newer format stays.
  func restore(_ located: Located, sparesForeign: Bool = false) throws(StoreError) {
    if !located.slot.carriesBody { return }
    if (try? tree.isWholeBody(located)) == true, !isSeparate(located) { return }
    let metadata = Layout.metadataPath(located.slot.keyHash, located.slot.variant)
    if sparesForeign, tree.failure(of: metadata, in: located.entries.directory) == .foreign {
      return
    }
    guard let segment = located.segment,
      let (record, body) = try? catalog.readWhole(located, in: segment), let body
    else { return }
    try settle(
      Logged(slot: located.slot, entries: located.entries, record: record, body: body),
      .again)
  }

  /// Writes the files of a settled entry again whose record carries the body, whatever stands there.
  ///
  /// - Parameter written: the numbers of the body files that were written so. Variants of a key with equal
  ///   bodies have one.
  func writeAnew(_ located: Located, _ written: inout [BodyName: UInt64]) throws(StoreError) {
    guard let segment = located.segment,
      let (record, body) = try? catalog.readWhole(located, in: segment), let body
    else { return }
    let name = BodyName(hash: located.slot.keyHash, digest: record.head.digest)
    let file = written[name]
    let placed = try settle(
      Logged(slot: located.slot, entries: located.entries, record: record, body: body),
      .anew(file: file))
    if let placed, placed.digest == name.digest { written[name] = placed.file }
  }

  /// Returns whether an entry has a body file of its own, although it shares one by its records. A loss
  /// of power may bring the file of an equal body back, which the entry replaced.
  private func isSeparate(_ located: Located) -> Bool {
    let slot = located.slot
    guard slot.hasBodyFile, catalog.sharesFile(slot) else { return false }
    let status = try? fileSystem.status(
      at: Layout.bodyPath(slot.keyHash, slot.digest), in: located.entries.directory.raw)
    return status?.linkCount == 1
  }
}
