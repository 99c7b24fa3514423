public import CacheFormat
internal import CacheSystem
internal import Synchronization

extension Store {
  /// Stores a body and its metadata under a key, in place of what was there.
  ///
  /// A pinned entry stays pinned. Equal bodies are kept once.
  ///
  /// - Throws: `keyEmpty`, `keyTooLong`, `metadataTooLarge`, `entryTooLarge`, `pinQuotaExceeded`,
  ///   `noSpace`, `readOnly`, `inputOutput`, `closed`; what was stored before is still there then.
  /// - Durability: what `durability` says, once it has returned.
  /// - Complexity: O(length of the body).
  @discardableResult
  public func put(
    _ body: [UInt8], for key: ByteString, variant: UInt64 = 0,
    metadata: EntryMetadata = EntryMetadata()
  ) throws(StoreError) -> EntryInfo {
    try put(body, for: key, variant: variant, metadata: metadata, past: nil)
  }

  /// Stores what another cache has kept; see ``Past``.
  ///
  /// - Throws: as ``put(_:for:variant:metadata:)``, and `leastRecent`.
  @discardableResult
  package func put(
    _ body: [UInt8], for key: ByteString, variant: UInt64, metadata: EntryMetadata, past: Past?
  ) throws(StoreError) -> EntryInfo {
    try check(key, metadata)
    return try commit(
      NewEntry(
        key: key, variant: variant, metadata: metadata, digest: Digest(hashing: body),
        length: UInt64(body.count), body: .bytes(body), past: past))
  }

  /// Puts an entry into the tree and the journal.
  func commit(_ entry: NewEntry) throws(StoreError) -> EntryInfo {
    try checkLength(entry.length, path)
    let hash = hash(entry.key)
    // Where the tree cannot be asked, what is there counts as damaged and is replaced.
    try? askTree(hash)
    let isFull = try makeRoom(for: entry, hash)
    var hasMadeSpace = false
    for _ in 0..<Self.maximumAttempts {
      do throws(StoreError) {
        guard let info = try commitOnce(entry, hash) else { continue }
        eventHub.send(.stored, key: entry.key, bytes: entry.length)
        keepLimits()
        if isFull { upkeep.request(.evict, of: self) }
        return info
      } catch  where error.code == .noSpace && !hasMadeSpace {
        hasMadeSpace = true
        guard makeSpace(entry.length) else { throw error }
      }
    }
    throw StoreError(
      .inputOutput, path: path, cause: "all entries were removed again and again meanwhile",
      remedy: "try again")
  }

  /// - Returns: nil when all entries were removed meanwhile, so that it has to begin again.
  private func commitOnce(_ entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> EntryInfo? {
    let session = try ownSession()
    let shard = try lockShard(hash)
    defer { shard.unlock() }
    let entries = shard.entries
    let before = Before(state, self, hash, entry)
    var draft = draft(entry, hash, before)
    var keyFiles: KeyFiles
    do throws(StoreError) {
      keyFiles = try KeyFiles(self, shard, hash, isKnown: before.hasVariants)
    } catch {
      if isRemoval(error, of: entries) { return nil }
      throw error
    }
    do throws(StoreError) {
      (draft.head.digest, draft.head.bodyFile) = try keyFiles.placeBody(entry, before)
      let document = try draft.document(hashSeed: hashSeed, sequence: before.nextSequence)
      draft.head.overhead = overhead(document.count)
      try keyFiles.placeMetadata(
        document, entry.variant, replacing: before.old != nil, staging: session)
      try keyFiles.synchronize(shard, isKnown: before.hasVariants)
      let record = draft.record
      let placed = try append { state throws(StoreError) -> [[UInt8]] in
        guard state.entries === entries else { return [] }
        try checkPinQuota(draft.head, replacing: before.old, state)
        state.counters.stores += 1
        return [record.bytes] + removals(of: before.surplus)
      }
      guard let placed else {
        keyFiles.undo()
        return nil
      }
      // Should the sync fail, nothing is promised, and both bodies stay: which of them counts is
      // seen when the journal is read again.
      keyFiles.keep()
      try sync(placed)
      keyFiles.finish(before, draft.head.digest)
      remember(record, entry)
      return EntryInfo(record: record, accessed: draft.head.accessed)
    } catch {
      keyFiles.undo()
      if isRemoval(error, of: entries) { return nil }
      throw error
    }
  }

  private func draft(_ entry: NewEntry, _ hash: KeyHash, _ before: Before) -> Draft {
    let now = Timestamp(nanoseconds: clock.now())
    var accessed = Timestamp(nanoseconds: before.tick)
    if let past = entry.past {
      // The key was asked for when what is replaced was.
      let known = before.old.map { Timestamp(nanoseconds: $0.accessed) } ?? .distantPast
      accessed = max(min(past.accessed, now), known)
    }
    return Draft(
      head: PutHead(
        keyHash: hash, digest: entry.digest, variant: entry.variant, length: entry.length,
        created: min(entry.past?.created ?? now, now), accessed: accessed,
        expires: entry.metadata.expires, bodyFile: 0, overhead: 0,
        status: entry.metadata.status, isPinned: before.old?.isPinned ?? false),
      key: entry.key, metadata: entry.metadata)
  }

  /// The bytes that a metadata file and its directory are charged with.
  package func overhead(_ documentBytes: Int) -> UInt32 {
    let block = place.blockBytes
    return UInt32((UInt64(documentBytes) + block - 1) / block * block + block)
  }

  private func removals(of slots: [Slot]) -> [[UInt8]] {
    slots.map { RemoveRecord(keyHash: $0.keyHash, variant: $0.variant, reason: .count).bytes }
  }

  private func remember(_ record: PutRecord, _ entry: NewEntry) {
    guard keepsInMemory, case .bytes(let body) = entry.body else { return }
    state.withLock { state in
      guard state.memory.admits(body.count + record.bytes.count),
        let number = state.index.find(record.head.keyHash, record.head.variant)
      else { return }
      let slot = state.index[number]
      guard slot.digest == record.head.digest, slot.accessed == record.head.accessed.nanoseconds
      else { return }
      remember(&state, slot, record, body)
    }
  }
}

/// What the index says of a key before it is changed; valid as long as its shard is locked.
struct Before {
  /// The variant that will be replaced.
  var old: Slot?
  var hasVariants: Bool { !all.isEmpty }
  /// All variants of the key.
  var all: [Slot] { (old.map { [$0] } ?? []) + others }
  /// The other variants of the key.
  var others: [Slot]
  /// Variants beyond the allowed number, least recently accessed first.
  var surplus: [Slot]
  /// An entry with an equal body.
  var sharing: Slot?
  /// The access time of the new entry.
  var tick: Int64
  /// The least number that the next record can have.
  var nextSequence: UInt64

  init(
    _ state: borrowing Lock<StoreState>, _ store: Store, _ hash: KeyHash, _ entry: NewEntry
  ) {
    let now = store.clock.now()
    self = state.withLock { state in
      store.follow(&state)
      let all = state.index.variants(of: hash).map { state.index[$0] }
      let others = all.filter { $0.variant != entry.variant }
      let surplus = max(0, others.count + 1 - Store.maximumVariants)
      return Before(
        old: all.first { $0.variant == entry.variant }, others: others,
        surplus: Array(
          others.filter { !$0.isPinned }.sorted { $0.accessed < $1.accessed }.prefix(surplus)),
        sharing: state.index.sharing(entry.digest, length: entry.length),
        tick: state.tick(now), nextSequence: state.journal.sequence &+ 1)
    }
  }

  private init(
    old: Slot?, others: [Slot], surplus: [Slot], sharing: Slot?, tick: Int64,
    nextSequence: UInt64
  ) {
    self.old = old
    self.others = others
    self.surplus = surplus
    self.sharing = sharing
    self.tick = tick
    self.nextSequence = nextSequence
  }
}
