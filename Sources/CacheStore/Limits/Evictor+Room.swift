internal import CacheFormat
internal import CacheSystem

// What entries take of the limits. All of it depends on the entries alone: the journal is charged with
// its budget, so dead records evict nothing.
extension Evictor {
  /// The bytes that are used, without the room that is set aside for dead records.
  func held() -> UInt64 {
    if let delegate { return size(by: delegate) }
    return catalog.state.withLock { state in
      let used = catalog.counted(state.index.totals, live: 0, state)
      if state.limits.accounting == .logical { return used }
      return used - min(used, UInt64(catalog.journalBudget(state).dead))
    }
  }

  /// Asks the delegate; no lock is held.
  private func size(by delegate: any StoreSizeDelegate) -> UInt64 {
    let statistics = statistics()
    return callOut { delegate.size(of: statistics) }
  }

  /// What the store holds and has done.
  func statistics() -> Statistics {
    catalog.state.withLock { state in
      catalog.follow(&state)
      return Statistics(
        state, charged: catalog.counted(state.index.totals, live: 0, state), counters)
    }
  }

  /// Why the limits do not hold, or `nil`.
  func excess() -> RemovalReason? {
    excess { state in (state.index.totals.entries, state.index.totals, 0) }
  }

  /// Why the limits would not hold with an entry in its place, or `nil`. A delegate counts what is there:
  /// the new entry does not count for it yet.
  private func excess(
    adding entry: NewEntry, _ size: EntrySize, _ hash: KeyHash
  ) -> RemovalReason? {
    excess { state in
      let old = state.index.find(hash, entry.variant).map { state.index[$0] }
      let (totals, live) = totals(state, adding: entry, size, replacing: old)
      return (state.index.totals.entries + (old == nil ? 1 : 0), totals, live)
    }
  }

  /// Compares the limits with what `planned` gives: the number of entries, their totals, and the bytes of
  /// live records that the journal gets more.
  private func excess(
    _ planned: (borrowing StoreState) -> (entries: Int, totals: EntryTotals, live: Int64)
  ) -> RemovalReason? {
    let delegate = delegate
    let (reason, most) = catalog.state.withLock { state -> (RemovalReason?, UInt64?) in
      catalog.follow(&state)
      let (entries, totals, live) = planned(state)
      if let most = state.limits.entries, UInt64(entries) > most { return (.count, nil) }
      guard let most = state.limits.bytes else { return (nil, nil) }
      if delegate != nil { return (nil, most) }
      return (catalog.counted(totals, live: live, state) > most ? .bytes : nil, nil)
    }
    guard let most, let delegate else { return reason }
    return size(by: delegate) > most ? .bytes : nil
  }

  /// The totals with an entry in its place, and the bytes of live records that come with it.
  private func totals(
    _ state: borrowing StoreState, adding entry: NewEntry, _ size: EntrySize, replacing old: Slot?
  ) -> (EntryTotals, live: Int64) {
    var totals = state.index.totals
    var live = size.record
    if let old {
      totals.logicalBytes -= old.length
      totals.overheadBytes -= old.overhead
      live -= Int64(old.recordLength)
      if old.digest != entry.digest, state.index.isAlone(old) {
        totals.bodyBytes -= state.index.allocated(old.length)
      }
    }
    totals.logicalBytes += entry.length
    totals.overheadBytes += size.overhead
    if state.index.sharing(entry.digest, length: entry.length) == nil {
      totals.bodyBytes += state.index.allocated(entry.length)
    }
    return (totals, live)
  }

  /// What an entry takes beside its body.
  private struct EntrySize {
    var overhead: UInt64 = 0
    var record: Int64 = 0
  }

  /// Makes room for an entry before it is stored, so that the limits hold when it is there: evicts as
  /// many of the least recently accessed entries as are needed.
  ///
  /// - Returns: whether one was evicted, so that the upkeep should go on to the low-water mark when
  ///   the entry is stored.
  /// - Throws: `noSpace` if all that is left is pinned; `leastRecent` if all that is left was accessed
  ///   later than an entry with a past.
  func makeRoom(for entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> Bool {
    let limits = limits
    if limits == .none { return false }
    // An entry that will be replaced is not evicted before the new one is stored.
    let now = catalog.clock.now()
    let old = catalog.state.withLock { state -> Slot? in
      guard let number = state.index.find(hash, entry.variant) else { return nil }
      state.index.touch(number, at: entry.past?.accessed.nanoseconds ?? state.tick(now))
      return state.index[number]
    }
    let bound = entry.past.map { max($0.accessed.nanoseconds, old?.accessed ?? .min) }
    if limits.freeBytes > 0 {
      try keepFree(limits.freeBytes, adding: entry.length, olderThan: bound)
    }
    let size = try limits.bytes == nil ? EntrySize() : size(of: entry, hash)
    compactForDelegate()
    var isFull = false
    while let reason = excess(adding: entry, size, hash) {
      if try evictOne(reason, olderThan: bound) == nil { throw full(bound) }
      // For an entry with a past no more room is made than is needed: it may find none at all.
      isFull = bound == nil
    }
    return isFull
  }

  private func size(of entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> EntrySize {
    let time = Timestamp(nanoseconds: 0)
    let stored = entry.stored(digest: entry.digest, created: time, accessed: time, isPinned: false)
    let draft = try Draft(stored, hash, bodyFile: 0, sequence: 0, for: tree)
    return EntrySize(
      overhead: UInt64(draft.record.head.overhead), record: Int64(draft.record.bytes.count))
  }

  /// A delegate may count dead records: they are removed before an entry is evicted.
  private func compactForDelegate() {
    guard let delegate, let most = limits.bytes else { return }
    let journal = catalog.state.withLock { $0.journal.bytes }
    if journal.all - journal.live > journal.live, size(by: delegate) > most {
      try? recovery.purge()
    }
  }

  /// Why the upkeep evicts one more entry, or `nil`.
  func reasonForMoreRoom() -> RemovalReason? {
    let hasDelegate = delegate != nil
    return catalog.state.withLock { state in
      guard let victim = state.index.oldest() else { return nil }
      if let most = state.limits.entries, UInt64(state.index.totals.entries) > most - most / 20 {
        return .count
      }
      guard let most = state.limits.bytes, !hasDelegate else { return nil }
      var totals = state.index.totals
      totals.logicalBytes -= victim.length
      totals.overheadBytes -= victim.overhead
      if state.index.isAlone(victim) { totals.bodyBytes -= state.index.allocated(victim.length) }
      let rest = catalog.counted(totals, live: -Int64(victim.recordLength), state)
      return rest >= most - most / 20 ? .bytes : nil
    }
  }
}

extension Catalog {
  /// The bytes that entries with these totals take.
  ///
  /// - Parameter live: the bytes of live records that come or go with the change.
  func counted(
    _ totals: EntryTotals, live: Int64, _ state: borrowing StoreState
  ) -> UInt64 {
    switch state.limits.accounting {
    case .logical: totals.logicalBytes
    case .allocated:
      totals.bodyBytes + totals.overheadBytes + journalBudget(state, adding: live).bytes
    }
  }

  /// The bytes that an entry with a body of a length takes at most, before it is known which bodies are
  /// shared and how long its record is.
  func planned(_ length: UInt64, _ state: borrowing StoreState) -> UInt64 {
    switch state.limits.accounting {
    case .logical: length
    case .allocated:
      state.index.allocated(length) + 2 * place.blockBytes + Self.plannedRecordBytes
    }
  }

  private static var plannedRecordBytes: UInt64 { 1_056 }
}
