public import CacheFormat
internal import CacheSystem
internal import Synchronization

extension Store {
  /// Stores a body and its metadata under a key, and replaces the entry that was there.
  ///
  /// A pinned entry stays pinned. Equal bodies are kept once.
  ///
  /// - Throws: `keyEmpty`, `keyTooLong`, `metadataTooLarge`, `entryTooLarge`, `pinQuotaExceeded`,
  ///   `noSpace`, `readOnly`, `inputOutput`, `closed`. Then the entry that was there is still
  ///   there.
  /// - Durability: that of the store, once it has returned.
  /// - Complexity: O(length of the body).
  @discardableResult
  public func put(
    _ body: [UInt8], for key: ByteString, variant: UInt64 = 0,
    metadata: EntryMetadata = EntryMetadata()
  ) throws(StoreError) -> EntryInfo {
    try put(body, for: key, variant: variant, metadata: metadata, past: nil)
  }

  /// Stores a response that another cache has kept; see ``ImportedTimes``.
  ///
  /// - Throws: the errors of ``put(_:for:variant:metadata:)``, and `leastRecent`.
  @discardableResult
  package func put(
    _ body: [UInt8], for key: ByteString, variant: UInt64, metadata: EntryMetadata,
    past: ImportedTimes?
  ) throws(StoreError) -> EntryInfo {
    try check(key, metadata)
    return try commit(
      NewEntry(
        key: key, variant: variant, metadata: metadata, digest: Digest(hashing: body),
        length: UInt64(body.count), body: .bytes(body), past: past))
  }

  /// Adds an entry to the tree and the journal.
  func commit(_ new: NewEntry) throws(StoreError) -> EntryInfo {
    let limits = evictor.limits
    try checkLength(new.length, limits, isSpare: new.isSpare)
    let hash = catalog.hash(new.key)
    var entry = new
    if embeds(new.length) {
      entry.body = .bytes(try bytes(of: new))
      entry.isEmbedded = true
    }
    // If the tree cannot be read, its files for this key count as damaged and are replaced.
    try? recovery.askTree(hash)
    let isFull = try evictor.makeRoom(for: entry, hash, limits)
    var hasMadeSpace = false
    for _ in 0..<Self.maximumCommits {
      do throws(StoreError) {
        var stored = try commitToLog(entry, hash)
        if stored == nil { stored = try commitOnce(entry, hash) }
        guard let (info, displaced) = stored else { continue }
        counters.stores.add(1, ordering: .relaxed)
        counters.evictions.add(UInt64(displaced.count), ordering: .relaxed)
        for slot in displaced { events.send(.removed(.count), bytes: slot.length) }
        events.send(.stored, key: entry.key, bytes: entry.length)
        evictor.keepLimits()
        if isFull { upkeep.request(.evict) }
        return info
      } catch  where error.code == .noSpace && !hasMadeSpace {
        hasMadeSpace = true
        // The bytes of a staged body are on the disk already.
        guard evictor.makeSpace(entry.isStaged ? 0 : entry.length) else { throw error }
      }
    }
    throw .contended(path)
  }

  /// An entry that was stored, and the variants of its key that it has displaced.
  typealias Stored = (info: EntryInfo, displaced: [Slot])

  /// The number of times that an entry is written if others of its key are changed meanwhile.
  private static var maximumCommits: Int { 64 }

  /// - Returns: `nil` if another entry of the key was changed, or all entries were removed meanwhile.
  ///   The caller then tries again.
  private func commitOnce(_ entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> Stored? {
    let session = try catalog.writer.ownSession()
    return try catalog.withShard(of: hash) { shard throws(StoreError) in
      let now = catalog.clock.now()
      let before = try reader.withCurrentState { state throws(StoreError) in
        try reader.check(state)
        return Before(&state, hash, entry, now: now)
      }
      return try catalog.withKeyFiles(hash, shard, staging: session, isKnown: before.hasFiles) {
        keyFiles throws(StoreError) in try place(entry, before, in: shard, &keyFiles)
      }
    }
  }

  /// Writes the files of an entry, then its record, and then removes the files that it replaces.
  ///
  /// - Returns: `nil` if another entry of the key was changed, or all entries were removed meanwhile.
  private func place(
    _ entry: NewEntry, _ before: Before, in shard: borrowing Shard, _ keyFiles: inout KeyFiles
  ) throws(StoreError) -> Stored? {
    let body = try keyFiles.placeBody(entry, before)
    let draft = try Draft(
      entry.stored(digest: body.digest, at: moment(of: entry, before)), keyFiles.hash,
      bodyFile: body.file, sequence: before.nextSequence, for: catalog.tree)
    try keyFiles.placeMetadata(draft.document, entry.variant, replacing: before.old != nil)
    try keyFiles.synchronize(shard)
    let (record, head) = (draft.record, draft.record.head)
    let entries = shard.entries
    let placed = try catalog.writer.append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === entries, before.isCurrent(state, keyFiles.hash) else { return [] }
      if head.isPinned { try evictor.checkPinQuota(head.length, replacing: before.old, state) }
      return removals(of: before.surplus) + [record.bytes]
    }
    guard let placed else { return nil }
    // If the sync fails, nothing is promised, and both bodies stay. The journal, when it is read
    // again, shows which of them counts.
    keyFiles.keep()
    try compactor.sync(placed)
    if !keyFiles.finish(before, head.digest) { requestMetadata() }
    catalog.tree.staging.deleteReplaced(keyFiles.hash)
    remember(record, entry, at: placed)
    return (EntryInfo(record: record, accessed: head.accessed), before.surplus)
  }

  /// Has the metadata file of an entry written again that could not get its name: by the upkeep, or if
  /// that fails, too, at the next opening.
  func requestMetadata() {
    catalog.tree.staging.noteUnclean()
    upkeep.request(.reconcile)
  }

  /// Returns the parts of a record that depend on the entry that is replaced.
  func moment(of entry: NewEntry, _ before: Before) -> PutRecord.Moment {
    let now = Timestamp(nanoseconds: catalog.clock.now())
    var accessed = Timestamp(nanoseconds: before.tick)
    if let past = entry.past {
      // The access of the replaced entry was an access of this key, too.
      let known = before.old.map { Timestamp(nanoseconds: $0.accessed) } ?? .distantPast
      accessed = max(min(past.accessed, now), known)
    }
    return PutRecord.Moment(
      created: min(entry.past?.created ?? now, now), accessed: accessed,
      isPinned: before.old?.isPinned ?? false)
  }

  func removals(of slots: [Slot]) -> [[UInt8]] {
    slots.map { RemoveRecord(keyHash: $0.keyHash, variant: $0.variant, reason: .count).bytes }
  }

  /// Keeps a new entry in memory, unless it was replaced, changed or removed since it was appended.
  func remember(_ record: PutRecord, _ entry: NewEntry, at placed: AppendedPlace) {
    guard keepsInMemory, case .bytes(let body) = entry.body else { return }
    let head = record.head
    catalog.state.withLock { state in
      guard let number = state.index.find(head.keyHash, head.variant) else { return }
      let slot = state.index[number]
      guard slot.segment == placed.segment.number,
        Int64(slot.offset) + Int64(slot.recordLength) == placed.end
      else { return }
      state.remember(slot, record, body)
    }
  }
}
