internal import CacheFormat
internal import CacheSystem

// The bytes that entries take of the limits. They depend on the entries alone: the journal counts
// with its budget instead of its length, so dead records evict nothing.
extension Evictor {
  /// Returns the bytes that are used, without the room that is set aside for dead records.
  func held() -> UInt64 {
    if let delegate { return size(by: delegate) }
    return catalog.state.withLock { state in
      let used = state.counted(state.index.totals, live: 0)
      if state.limits.accounting == .logical { return used }
      let room = UInt64(state.journalBudget().dead) + state.logReserve
      return used - min(used, room)
    }
  }

  /// Returns the size that the delegate computes. No lock is held during the call.
  private func size(by delegate: any StoreSizeDelegate) -> UInt64 {
    let statistics = statistics()
    return callOut { delegate.size(of: statistics) }
  }

  /// Returns counts of the contents and the work of the store.
  func statistics() -> Statistics {
    reader.withCurrentState { state in
      Statistics(state, charged: state.counted(state.index.totals, live: 0), counters)
    }
  }

  /// Returns the limit that is exceeded; `nil` if all limits hold.
  func excess() -> RemovalReason? {
    excess { state in (state.index.totals, 0) }
  }

  /// Compares the limits with the values of `planned`: the totals, and the bytes of live records by
  /// which the journal grows. A delegate counts the present entries instead.
  private func excess(
    _ planned: (borrowing StoreState) -> (totals: EntryTotals, live: Int64)
  ) -> RemovalReason? {
    let delegate = delegate
    let (reason, most) = catalog.state.withLock { state -> (RemovalReason?, UInt64?) in
      let (totals, live) = planned(state)
      if let most = state.limits.entries, UInt64(totals.entries) > most { return (.count, nil) }
      guard let most = state.limits.bytes else { return (nil, nil) }
      if delegate != nil { return (nil, most) }
      return (state.counted(totals, live: live) > most ? .bytes : nil, nil)
    }
    guard let most, let delegate else { return reason }
    return size(by: delegate) > most ? .bytes : nil
  }

  /// Returns the totals with a new entry, and the bytes of live records by which the journal grows.
  func totals(
    _ state: borrowing StoreState, adding entry: NewEntry, _ size: EntrySize, _ hash: KeyHash
  ) -> (EntryTotals, live: Int64) {
    var totals = state.index.totals
    var live = size.record
    if let old = state.index.find(hash, entry.variant).map({ state.index[$0] }) {
      totals.count(old, allocated: state.index.allocated(old), -1)
      live -= Int64(old.keptBytes)
      // An entry in the log counts with a file of its own, which another record does not keep.
      if old.isUnsettled || old.digest != entry.digest && state.index.isAlone(old) {
        totals.bodyBytes -= state.index.allocated(old)
      }
    }
    var new = Slot()
    new.length = entry.length
    new.overhead = size.overhead
    new.isSpare = entry.isSpare
    new.isEmbedded = entry.isEmbedded
    totals.count(new, allocated: state.index.allocated(new), 1)
    if state.index.sharing(entry.digest, length: entry.length) == nil {
      totals.bodyBytes += state.index.allocated(new)
    }
    return (totals, live)
  }

  /// The bytes that an entry takes in addition to its body.
  struct EntrySize {
    var overhead: UInt64 = 0
    var record: Int64 = 0
  }

  /// Makes room for an entry before it is stored, in the limits and on the volume: evicts as many of the
  /// least recently accessed entries as necessary.
  ///
  /// - Returns: whether an entry was evicted for a limit. Then the upkeep should evict down to the
  ///   low-water mark after the entry is stored.
  /// - Throws: `noSpace` if only pinned entries are left; `leastRecent` if only entries are left
  ///   that were accessed later than a new entry with a `ImportedTimes`.
  func makeRoom(
    for entry: NewEntry, _ hash: KeyHash, _ limits: Limits
  ) throws(StoreError) -> Bool {
    // The entry that will be replaced counts as accessed at the time of the new one, so that it is
    // not evicted before the new one is stored.
    let old = putOff(hash, entry.variant, to: entry.past?.accessed.nanoseconds)
    let size = try limits.bytes == nil ? EntrySize() : size(of: entry, hash)
    try checkRoom(for: entry, size, hash)
    keepReserve(adding: entry, hash, limits, replacing: old)
    if limits == .none { return false }
    let bound = entry.past.map { max($0.accessed.nanoseconds, old?.accessed ?? .min) }
    if limits.freeBytes > 0 {
      try keepFree(
        limits.freeBytes, adding: room(for: entry), isImported: bound != nil,
        forSpare: entry.isSpare, sparing: old
      ) { totals($0, adding: entry, EntrySize(), hash).0 }
    }
    compactForDelegate()
    var (isFull, isLookedAtAgain) = (false, false)
    while let reason = excess({ totals($0, adding: entry, size, hash) }) {
      let gone = try evictOne(reason, olderThan: bound, sparing: old) { state in
        totals(state, adding: entry, size, hash).0
      }
      if gone == nil {
        // Others may have removed meanwhile what was to go, and so have made the room.
        if isLookedAtAgain { throw full(reason, bound) }
        isLookedAtAgain = true
        continue
      }
      // For an entry with a `ImportedTimes`, no more room is made than necessary.
      (isFull, isLookedAtAgain) = (bound == nil, false)
    }
    return isFull
  }

  /// Throws an error if an entry would have no room even without all entries that may be evicted: then
  /// none is evicted for it. A delegate may count in another way.
  private func checkRoom(
    for entry: NewEntry, _ size: EntrySize, _ hash: KeyHash
  ) throws(StoreError) {
    let hasDelegate = delegate != nil
    let isTooLong = try catalog.state.withLock { state throws(StoreError) -> Bool in
      let old = state.index.find(hash, entry.variant).map { state.index[$0] }
      if let old, old.isPinned { try checkPinQuota(entry.length, replacing: old, state) }
      guard let most = state.limits.bytes, !hasDelegate else { return false }
      // What stays.
      var totals = state.index.totals
      if let old { totals.count(old, allocated: state.index.allocated(old), -1) }
      if state.limits.accounting == .logical {
        let (bytes, isTooLarge) = totals.pinnedBytes.addingReportingOverflow(entry.length)
        return isTooLarge || bytes > most
      }
      // An equal body that is stored already takes no more room on disk.
      let isStored =
        entry.isEmbedded
        || state.index.sharing(entry.digest, length: entry.length) != nil
      let (bytes, isTooLarge) = totals.leastPinnedBytes.addingReportingOverflow(
        isStored ? 0 : state.index.allocated(entry.length))
      if isTooLarge { return true }
      let budget = JournalBudget(live: size.record, limit: most, journal.sizes).bytes
      return bytes + size.overhead + budget + state.logReserve > most
    }
    if isTooLong {
      let hasPinned = catalog.state.withLock { $0.index.totals.pinnedEntries > 0 }
      throw StoreError(
        .noSpace, path: path,
        cause:
          "the limits leave no room for a body of \(entry.length) bytes, even without all "
          + (hasPinned ? "entries that are not pinned" : "other entries"),
        remedy: hasPinned ? "unpin something, or raise the limits" : "raise the limits")
    }
  }

  /// Throws `pinQuotaExceeded` if a pinned entry with a body of this length would make the pinned bytes
  /// grow beyond their quota.
  func checkPinQuota(
    _ length: UInt64, replacing old: Slot?, _ state: borrowing StoreState
  ) throws(StoreError) {
    let before = old.map { $0.isPinned ? $0.length : 0 } ?? 0
    let all = state.index.totals.pinnedBytes
    let pinned = all - min(all, before) + length
    guard length > before, pinned > state.limits.pinQuota else { return }
    throw StoreError(
      .pinQuotaExceeded, path: path,
      cause: "\(pinned) bytes would be pinned, \(state.limits.pinQuota) may be",
      remedy: "unpin something, or raise the limit of pinned bytes")
  }

  private func size(of entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> EntrySize {
    let record = try entry.record(hash, in: tree)
    let bodyBytes = RecordFrame.padded(entry.embeddedBody?.count ?? 0)
    return EntrySize(
      overhead: UInt64(record.head.overhead), record: Int64(record.bytes.count + bodyBytes))
  }

  /// Writes the journal anew if a delegate counts too many bytes and more than half of the journal
  /// is dead, because a delegate may count dead records.
  private func compactForDelegate() {
    guard let delegate, let most = limits.bytes else { return }
    let (spare, live) = catalog.state.withLock { ($0.journal.spareBytes, $0.journal.bytes.live) }
    if spare > live, size(by: delegate) > most {
      try? recovery.purge()
    }
  }

  /// Returns the limit for which the upkeep evicts one more entry; `nil` if there is enough room.
  func reasonForMoreRoom() -> RemovalReason? {
    let hasDelegate = delegate != nil
    return catalog.state.withLock { state in
      guard let victim = state.victim(.bytes, state.index.totals) else { return nil }
      if let most = state.limits.entries, UInt64(state.index.totals.entries) > most - most / 20 {
        return .count
      }
      guard let most = state.limits.bytes, !hasDelegate else { return nil }
      var totals = state.index.totals
      totals.logicalBytes -= victim.length
      totals.overheadBytes -= victim.overhead
      if state.index.isAlone(victim) { totals.bodyBytes -= state.index.allocated(victim) }
      let rest = state.counted(totals, live: -Int64(victim.keptBytes))
      return rest >= most - most / 20 ? .bytes : nil
    }
  }
}

extension StoreState {
  /// Returns the bytes that entries with these totals take.
  ///
  /// - Parameter live: the bytes of live records by which a planned change grows (or, if negative,
  ///   shrinks) the journal.
  func counted(_ totals: EntryTotals, live: Int64) -> UInt64 {
    switch limits.accounting {
    case .logical: totals.logicalBytes
    case .allocated:
      totals.bodyBytes + totals.overheadBytes + journalBudget(adding: live).bytes + logReserve
    }
  }

  /// Returns the most bytes that a new entry takes, before it is known whether its body is shared.
  func planned(_ length: UInt64, _ size: MetadataSize) -> UInt64 {
    let (block, most) = (index.blockBytes, size.file)
    let file = (most + block - 1) / block * block
    return planned(length, overhead: file + block, record: size.record)
  }

  /// Returns the most bytes that a present entry counts for.
  func planned(_ slot: Slot) -> UInt64 {
    planned(slot.length, overhead: slot.overhead, record: UInt64(max(0, slot.keptBytes)))
  }

  private func planned(_ length: UInt64, overhead: UInt64, record: UInt64) -> UInt64 {
    switch limits.accounting {
    case .logical: length
    case .allocated:
      index.allocated(length) + max(overhead, 2 * index.blockBytes)
        + max(record, Self.usualRecordBytes)
        + (length <= UInt64(max(0, sizes.longestEmbedded)) ? length : 0)
    }
  }

  private static var usualRecordBytes: UInt64 { 1_056 }
}
