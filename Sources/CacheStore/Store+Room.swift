internal import CacheFormat
internal import CacheSystem

// What entries take of the limits. All of it depends on the entries alone: for the journal its budget
// is charged, so what is dead in it evicts nothing.
extension Store {
  /// The bytes that the byte limit is held against.
  func used(_ state: borrowing StoreState) -> UInt64 {
    if let delegate = sizeDelegate.delegate { return delegate.size(of: statistics(state)) }
    return counted(state.index.totals, live: 0, state)
  }

  /// The bytes that are used, without the room that is set aside for dead records.
  func held(_ state: borrowing StoreState) -> UInt64 {
    let used = used(state)
    if sizeDelegate.delegate != nil || state.limits.accounting == .logical { return used }
    return used - min(used, UInt64(journalBudget(state).dead))
  }

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

  /// Why the limits do not hold, or nil.
  func excess() -> RemovalReason? {
    state.withLock { state in
      follow(&state)
      if let most = state.limits.entries, UInt64(state.index.totals.entries) > most {
        return .count
      }
      if let most = state.limits.bytes, used(state) > most { return .bytes }
      return nil
    }
  }

  /// Why the limits would not hold with an entry in its place, or nil.
  private func excess(adding entry: NewEntry, _ size: EntrySize, _ hash: KeyHash) -> RemovalReason?
  {
    state.withLock { state in
      follow(&state)
      let old = state.index.find(hash, entry.variant).map { state.index[$0] }
      if let most = state.limits.entries,
        UInt64(state.index.totals.entries) + (old == nil ? 1 : 0) > most
      {
        return .count
      }
      guard let most = state.limits.bytes else { return nil }
      // What an entry is to a delegate shows when it is there.
      if sizeDelegate.delegate != nil { return used(state) > most ? .bytes : nil }
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
      return counted(totals, live: live, state) > most ? .bytes : nil
    }
  }

  /// What an entry takes beside its body.
  private struct EntrySize {
    var overhead: UInt64 = 0
    var record: Int64 = 0
  }

  /// Makes room for an entry before it is stored, so that the limits hold when it is there: as many of
  /// the least recently accessed entries go as are needed.
  ///
  /// - Returns: whether one had to go, so that the background should go on to the low-water mark when
  ///   the entry is there.
  /// - Throws: `noSpace` where all that is left is pinned; `leastRecent` where all that is left was
  ///   asked for later than an entry with a past.
  func makeRoom(for entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> Bool {
    let limits = limits
    if limits == .none { return false }
    // What is replaced does not go before the new entry is there, whatever becomes of that.
    let old = state.withLock { state -> Slot? in
      guard let number = state.index.find(hash, entry.variant) else { return nil }
      state.index.touch(number, at: entry.past?.accessed.nanoseconds ?? state.tick(clock.now()))
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
      if try !evictOne(reason, olderThan: bound) { throw full(bound) }
      // More room than is needed is not made for what may find no place at all.
      isFull = bound == nil
    }
    return isFull
  }

  private func size(of entry: NewEntry, _ hash: KeyHash) throws(StoreError) -> EntrySize {
    let time = Timestamp(nanoseconds: 0)
    let draft = Draft(
      head: PutHead(
        keyHash: hash, digest: entry.digest, variant: entry.variant, length: entry.length,
        created: time, accessed: time, expires: entry.metadata.expires, bodyFile: 0, overhead: 0,
        status: entry.metadata.status, isPinned: false),
      key: entry.key, metadata: entry.metadata)
    return EntrySize(
      overhead: UInt64(overhead(try draft.document(hashSeed: hashSeed, sequence: 0).count)),
      record: Int64(draft.record.bytes.count))
  }

  /// A delegate may count dead records: they go before an entry does.
  private func compactForDelegate() {
    if sizeDelegate.delegate == nil { return }
    let isCrowded = state.withLock { state in
      let journal = state.journal.bytes
      return state.limits.bytes.map { used(state) > $0 } ?? false
        && journal.all - journal.live > journal.live
    }
    if isCrowded { try? purge() }
  }

  /// One step of the upkeep: evicts some entries, as long as 95 percent of the limit stay in use.
  ///
  /// - Returns: whether there is more to do.
  func evictStep() -> Bool {
    for _ in 0..<32 {
      guard let reason = state.withLock({ state in reasonForMoreRoom(&state) }),
        (try? evictOne(reason)) == true
      else { return false }
    }
    return true
  }

  private func reasonForMoreRoom(_ state: inout StoreState) -> RemovalReason? {
    guard let victim = state.index.oldest() else { return nil }
    if let most = state.limits.entries, UInt64(state.index.totals.entries) > most - most / 20 {
      return .count
    }
    guard let most = state.limits.bytes, sizeDelegate.delegate == nil else { return nil }
    var totals = state.index.totals
    totals.logicalBytes -= victim.length
    totals.overheadBytes -= victim.overhead
    if state.index.isAlone(victim) { totals.bodyBytes -= state.index.allocated(victim.length) }
    let rest = counted(totals, live: -Int64(victim.recordLength), state)
    return rest >= most - most / 20 ? .bytes : nil
  }

  // MARK: Planning

  // How much room entries take, counted by lengths alone: what is true of a body before it is stored is
  // true of it then, whatever else the journal holds and whatever bodies are shared.

  /// The bytes that may be filled; nil without a limit.
  ///
  /// Where the journal counts, an eighth is left for records in it that are dead: then nothing has to be
  /// evicted for what was planned.
  package var plannedBytes: UInt64? {
    let limits = limits
    return limits.bytes.map { limits.accounting == .logical ? $0 : $0 - $0 / 8 }
  }

  /// The bytes that an entry with a body of a length takes, at most.
  package func planned(_ length: UInt64) -> UInt64 {
    state.withLock { planned(length, $0) }
  }

  /// The bytes that all entries take, at most.
  ///
  /// - Complexity: O(entries).
  package func plannedForAll() -> UInt64 {
    state.withLock { state in
      follow(&state)
      var sum: UInt64 = 0
      for number in 0..<UInt32(state.index.slotCount) where state.index[number].isLive {
        sum += planned(state.index[number].length, state)
      }
      return sum
    }
  }

  func planned(_ length: UInt64, _ state: borrowing StoreState) -> UInt64 {
    switch state.limits.accounting {
    case .logical: length
    case .allocated:
      state.index.allocated(length) + 2 * place.blockBytes + Self.plannedRecordBytes
    }
  }

  /// What the record of an entry is taken to have.
  private static var plannedRecordBytes: UInt64 { 1_056 }
}
