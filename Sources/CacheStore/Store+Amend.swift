public import CacheFormat
internal import CacheSystem
internal import Synchronization

// Changing what is said of an entry; its body stays as it is, and is not even opened.
extension Store {
  /// Changes the metadata of an entry.
  ///
  /// - Returns: false where there is no such entry.
  /// - Throws: `metadataTooLarge`, `readOnly`, `noSpace`, `inputOutput`, `closed`; nothing has
  ///   changed then.
  /// - Durability: that of the store, once it has returned.
  @discardableResult
  public func update(
    _ key: ByteString, variant: UInt64 = 0, _ change: (inout EntryMetadata) -> Void
  ) throws(StoreError) -> Bool {
    defer { keepLimits() }
    return try amend(key, variant) { metadata, _ in change(&metadata) }
  }

  /// Exempts an entry from eviction.
  ///
  /// - Returns: false where there is no such entry.
  /// - Throws: `pinQuotaExceeded`, and as `update`.
  @discardableResult
  public func pin(_ key: ByteString, variant: UInt64 = 0) throws(StoreError) -> Bool {
    defer { keepLimits() }
    return try amend(key, variant) { _, isPinned in isPinned = true }
  }

  /// Lets an entry be evicted again.
  ///
  /// - Returns: false where there is no such entry.
  @discardableResult
  public func unpin(_ key: ByteString, variant: UInt64 = 0) throws(StoreError) -> Bool {
    defer { keepLimits() }
    return try amend(key, variant) { _, isPinned in isPinned = false }
  }

  private func amend(
    _ key: ByteString, _ variant: UInt64, _ change: (inout EntryMetadata, inout Bool) -> Void
  ) throws(StoreError) -> Bool {
    if isReadOnly { throw .readOnly(path) }
    let hash = hash(key)
    try askTree(hash, variant)
    for _ in 0..<Self.maximumAttempts {
      let session = try ownSession()
      let shard = try lockShard(hash)
      defer { shard.unlock() }
      guard let located = locate(hash, variant), let record = try presentRecord(located),
        record.hasKey(key)
      else { return false }
      var draft = Draft(head: record.head, key: key, metadata: record.metadata)
      change(&draft.metadata, &draft.head.isPinned)
      try check(key, draft.metadata)
      draft.head.expires = draft.metadata.expires
      draft.head.status = draft.metadata.status
      draft.head.accessed = Timestamp(nanoseconds: located.slot.accessed)
      let document = try draft.document(
        hashSeed: hashSeed, sequence: state.withLock { $0.journal.sequence &+ 1 })
      draft.head.overhead = overhead(document.count)
      var keyFiles: KeyFiles
      do throws(StoreError) {
        keyFiles = try KeyFiles(self, shard, hash, isKnown: true)
      } catch {
        if isRemoval(error, of: shard.entries) { continue }
        throw error
      }
      do throws(StoreError) {
        try keyFiles.placeMetadata(document, variant, replacing: true, staging: session)
        if let placed = try appendAmended(draft, located) {
          try sync(placed)
          keyFiles.finishMetadata()
          return true
        }
        keyFiles.undo()
      } catch {
        keyFiles.undo()
        if isRemoval(error, of: shard.entries) { continue }
        throw error
      }
    }
    return false
  }

  /// - Returns: nil where it is damaged.
  /// - Throws: `inputOutput` where the system cannot read it for now.
  private func presentRecord(_ located: Located) throws(StoreError) -> PutRecord? {
    do throws(ReadFailure) {
      return try readRecord(located)
    } catch {
      guard error == .unreadable else { return nil }
      throw StoreError(
        .inputOutput, path: "\(path)/journal", cause: "the record of the entry cannot be read",
        remedy: "try again, then check the disk")
    }
  }

  /// - Returns: nil where the entry has changed since it was read.
  private func appendAmended(
    _ draft: Draft, _ located: Located
  ) throws(StoreError) -> AppendedPlace? {
    try append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === located.entries,
        let number = state.index.find(draft.head.keyHash, draft.head.variant),
        state.index[number].isSameRecord(as: located.slot)
      else { return [] }
      try checkPinQuota(draft.head, replacing: state.index[number], state)
      return [draft.record.bytes]
    }
  }

  /// Refuses what would make the pinned bytes grow beyond their quota.
  func checkPinQuota(
    _ head: PutHead, replacing old: Slot?, _ state: borrowing StoreState
  ) throws(StoreError) {
    guard head.isPinned else { return }
    let before = old.map { $0.isPinned ? $0.length : 0 } ?? 0
    let pinned = state.index.totals.pinnedBytes - before + head.length
    guard head.length > before, pinned > state.limits.pinQuota else { return }
    throw StoreError(
      .pinQuotaExceeded, path: path,
      cause: "\(pinned) bytes would be pinned, \(state.limits.pinQuota) may be",
      remedy: "unpin something, or raise the quota for pinned bytes")
  }

  /// Writes the access times that are in memory only to the journal.
  public func flush() throws(StoreError) {
    if isReadOnly { return }
    defer { tendJournal() }
    while try !flushSome() {}
    // What was accessed meanwhile is announced again.
    pendingTouches.withdraw(place.staging.raw, fileSystem)
    if state.withLock({ !$0.touched.isEmpty }) { announceTouches() }
  }

  private func flushSome() throws(StoreError) -> Bool {
    var isLast = true
    _ = try append { state throws(StoreError) -> [[UInt8]] in
      let slots = state.touched.prefix(TouchRecord.maximumCount)
      isLast = slots.count == state.touched.count
      let touches = slots.compactMap { number -> Touch? in
        let slot = state.index[number]
        state.index.setTouched(number, false)
        guard slot.isLive else { return nil }
        return Touch(
          keyHash: slot.keyHash, variant: slot.variant,
          accessed: Timestamp(nanoseconds: slot.accessed))
      }
      state.touched.removeFirst(slots.count)
      return touches.isEmpty ? [] : [TouchRecord.bytes(touches)]
    }
    return isLast
  }
}
