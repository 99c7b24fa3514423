public import CacheFormat
internal import CacheSystem
internal import Synchronization

// Changes of metadata and pins. The body of the entry is not even opened.
extension Store {
  /// Changes the metadata of an entry.
  ///
  /// `change` is called without a lock, so it may use the store. It is called again, with what is
  /// stored then, if others have changed the entry meanwhile, or for want of room.
  ///
  /// A change is no access. If the entry grows beyond a limit, the least recently accessed entries are
  /// evicted, which may be this one.
  ///
  /// - Returns: false if there is no such entry.
  /// - Throws: `metadataTooLarge`, `entryTooLarge` if the entry becomes a spare one for which its body is
  ///   too long, `readOnly`, `noSpace`, `closed`, `inputOutput`, also if others change the entry a
  ///   thousand times meanwhile. Then nothing has changed.
  /// - Durability: that of the store, once it has returned.
  @discardableResult
  public func update(
    _ key: ByteString, variant: UInt64 = 0, _ change: (inout EntryMetadata) -> Void
  ) throws(StoreError) -> Bool {
    try amend(key, variant) { metadata, _ in change(&metadata) }
  }

  /// Exempts an entry from eviction.
  ///
  /// - Returns: false if there is no such entry.
  /// - Throws: `pinQuotaExceeded`, and the errors of `update`.
  @discardableResult
  public func pin(_ key: ByteString, variant: UInt64 = 0) throws(StoreError) -> Bool {
    try amend(key, variant) { _, isPinned in isPinned = true }
  }

  /// Lets an entry be evicted again.
  ///
  /// - Returns: false if there is no such entry.
  @discardableResult
  public func unpin(_ key: ByteString, variant: UInt64 = 0) throws(StoreError) -> Bool {
    try amend(key, variant) { _, isPinned in isPinned = false }
  }

  /// Exempts all variants of a key from eviction, or lets them be evicted again.
  ///
  /// - Returns: their number.
  /// - Throws: the errors of ``pin(_:variant:)``. Then some may be pinned.
  package func setPinned(_ isPinned: Bool, allOf key: ByteString) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    var count = 0
    for info in variants(of: key) where try amend(key, info.variant, { $1 = isPinned }) {
      count += 1
    }
    // What cannot be read now is not gone.
    if count == 0 { try reader.checkReadable() }
    return count
  }

  private func amend(
    _ key: ByteString, _ variant: UInt64, _ change: (inout EntryMetadata, inout Bool) -> Void
  ) throws(StoreError) -> Bool {
    if isReadOnly { throw .readOnly(path) }
    let hash = catalog.hash(key)
    defer { evictor.keepLimits() }
    try recovery.askTree(hash, variant)
    do throws(StoreError) {
      return try amendAgain(key, variant, hash, change)
    } catch  where error.code == .noSpace {
      // This entry must not go for the room that its own record needs.
      evictor.putOff(hash, variant)
      guard evictor.isFull(error), evictor.makeSpace(0) else { throw error }
      return try amendAgain(key, variant, hash, change)
    }
  }

  /// Settles everything that is in the log, for the sake of one entry.
  ///
  /// - Throws: the error that prevents that entry from being settled.
  private func settle(_ hash: KeyHash, _ variant: UInt64) throws(StoreError) {
    var failure: StoreError?
    do throws(StoreError) { _ = try settler.settleAll() } catch { failure = error }
    guard let located = catalog.locate(hash, variant) else { return }
    if located.slot.isUnsettled, let failure { throw failure }
    try settler.restore(located)
  }

  /// Changes an entry, again if it was changed by others meanwhile.
  private func amendAgain(
    _ key: ByteString, _ variant: UInt64, _ hash: KeyHash,
    _ change: (inout EntryMetadata, inout Bool) -> Void
  ) throws(StoreError) -> Bool {
    // An attempt fails if others have changed the entry meanwhile, or if it has to be settled first.
    for _ in 0..<Self.maximumAmendments {
      let session = try catalog.writer.ownSession()
      guard case .entry(let located) = recovery.locate(hash, variant) else {
        // An entry that cannot be read now is not gone.
        try reader.checkReadable()
        return false
      }
      guard let (record, body) = try presentRecord(located), record.hasKey(key) else {
        if catalog.isCurrent(located) { return false }
        // It was replaced while it was read.
        continue
      }
      var entry = StoredEntry(record)
      // No lock is held: the closure may use the store, and take its time.
      callOut { change(&entry.metadata, &entry.isPinned) }
      try check(key, entry.metadata)
      if entry.metadata.isSpare, !located.slot.isSpare {
        try checkLength(entry.length, isSpare: true)
      }
      if let body, try appendLogged(entry, body, located) { return true }
      let outcome = try catalog.withShard(of: hash) { shard throws(StoreError) in
        try place(entry, body, located, in: shard, staging: session)
      }
      if outcome == .done { return true }
      if outcome == .unsettled { try settle(hash, variant) }
    }
    throw .contended(path)
  }

  private static var maximumAmendments: Int { 1_000 }

  /// Changes an entry whose record carries its body: appends both again.
  ///
  /// - Returns: false if its record does not, if there is no room in the log, or if the entry has changed
  ///   since it was read.
  private func appendLogged(
    _ entry: StoredEntry, _ body: [UInt8], _ located: Located
  ) throws(StoreError) -> Bool {
    guard longestLogged != nil, located.slot.carriesBody else { return false }
    let (created, isPinned) = (entry.created, entry.isPinned)
    var new = NewEntry(
      key: entry.key, variant: entry.variant, metadata: entry.metadata, digest: entry.digest,
      length: entry.length, body: .bytes(body))
    new.isEmbedded = embeds(entry.length)
    let write = LogWrite(
      record: PutRecord(
        entry, located.slot.keyHash, bodyFile: 0,
        overhead: try catalog.tree.plannedOverhead(entry, new.embeddedBody),
        isEmbedded: new.isEmbedded),
      body: body, hash: located.slot.keyHash, entry: new,
      change: { before in
        // The change was made to this version of the entry.
        guard let old = before.old, old.isSameRecord(as: located.slot) else { return nil }
        return PutRecord.Moment(
          created: created, accessed: Timestamp(nanoseconds: old.accessed), isPinned: isPinned)
      })
    return try append(write) != nil
  }

  private enum Amendment {
    case done
    /// Only the log has the entry or its body, and there is no room in it.
    case unsettled
    /// The entry has changed since it was read, or all entries were removed.
    case outdated
  }

  /// Writes the changed metadata file and its record.
  private func place(
    _ entry: StoredEntry, _ body: [UInt8]?, _ read: Located, in shard: borrowing Shard,
    staging session: Session
  ) throws(StoreError) -> Amendment {
    let hash = read.slot.keyHash
    guard let located = catalog.locate(hash, read.slot.variant),
      located.slot.isSameRecord(as: read.slot)
    else { return .outdated }
    // Without room in the log, the entry is settled first.
    if located.slot.isUnsettled { return .unsettled }
    if located.slot.carriesBody, !located.slot.isEmbedded {
      if (try? catalog.tree.isWholeBody(located)) != true { return .unsettled }
      if catalog.place.isDurable { try settler.volumeSync.synchronize() }
    }
    var entry = entry
    entry.accessed = Timestamp(nanoseconds: located.slot.accessed)
    let draft = try Draft(
      // The record of an entry in the log was written before its file had a number.
      entry, hash, bodyFile: UInt64(located.slot.bodyFile),
      embedding: located.slot.isEmbedded ? body : nil,
      sequence: catalog.state.withLock { $0.journal.sequence &+ 1 }, for: catalog.tree)
    return try place(draft, located, in: shard, staging: session)
  }

  private func place(
    _ draft: Draft, _ located: Located, in shard: borrowing Shard, staging session: Session
  ) throws(StoreError) -> Amendment {
    let outcome = try catalog.withKeyFiles(
      located.slot.keyHash, shard, staging: session, isKnown: true
    ) { keyFiles throws(StoreError) -> Amendment? in
      try keyFiles.placeMetadata(draft.document, located.slot.variant, replacing: true)
      guard let placed = try append(draft, inPlaceOf: located) else { return nil }
      try compactor.sync(placed)
      if !keyFiles.finishMetadata() { requestMetadata() }
      return .done
    }
    return outcome ?? .outdated
  }

  /// Reads the record of an entry, and the body if the record or the metadata file has it.
  ///
  /// - Returns: `nil` if it is damaged.
  /// - Throws: `inputOutput` if the system cannot read it now; it may be readable later.
  private func presentRecord(
    _ located: Located
  ) throws(StoreError) -> (record: PutRecord, body: [UInt8]?)? {
    if longestLogged != nil, located.slot.carriesBody, let segment = located.segment,
      let (record, body) = try? catalog.readWhole(located, in: segment), let body
    {
      return (record, body)
    }
    do throws(ReadFailure) {
      return try catalog.readWithEmbedded(located)
    } catch {
      guard error == .unreadable else { return nil }
      throw StoreError(
        .inputOutput, path: "\(path)/journal", cause: "the record of the entry cannot be read",
        remedy: "try again, then check the disk")
    }
  }

  /// Appends the record of a draft, which replaces an entry.
  ///
  /// - Returns: `nil` if the entry has changed since it was read.
  private func append(
    _ draft: Draft, inPlaceOf located: Located
  ) throws(StoreError) -> AppendedPlace? {
    let head = draft.record.head
    return try catalog.writer.append { state throws(StoreError) -> [[UInt8]] in
      guard state.entries === located.entries,
        let number = state.index.find(head.keyHash, head.variant),
        state.index[number].isSameRecord(as: located.slot)
      else { return [] }
      if head.isPinned {
        try evictor.checkPinQuota(head.length, replacing: state.index[number], state)
      }
      return [draft.recordBytes]
    }
  }

  /// Appends to the journal the access times that are only in memory.
  public func flush() throws(StoreError) { try accessTimes.flush() }
}
