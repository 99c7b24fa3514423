internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// What is known of the free space on the volume; asked anew every so many bytes.
final class RoomKeeper: Sendable {
  struct Known {
    var available: UInt64 = 0
    /// The bytes written since it was asked.
    var written: UInt64 = .max
  }
  let known = Mutex(Known())
}

extension Store {
  /// The limits of the store, the same for all its users.
  public var limits: Limits {
    state.withLock { state in
      follow(&state)
      return state.limits
    }
  }

  /// Sets the limits for all users of the store, and evicts what is beyond them.
  ///
  /// - Throws: `invalidLimits` where they contradict each other or what is pinned; `readOnly`.
  public func setLimits(_ limits: Limits) throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    if let cause = limits.contradiction {
      throw StoreError(.invalidLimits, path: path, cause: cause, remedy: "change one of them")
    }
    let placed = try append { state throws(StoreError) -> [[UInt8]] in
      let pinned = state.index.totals.pinnedBytes
      if pinned > limits.pinQuota {
        throw StoreError(
          .invalidLimits, path: path,
          cause: "\(pinned) bytes are pinned, the new limits allow \(limits.pinQuota)",
          remedy: "unpin something first")
      }
      return [limits.record.bytes]
    }
    if let placed { try sync(placed) }
    keepLimits()
  }

  /// Evicts the least recently accessed entries until the store holds at most `bytes` bytes, as its
  /// limits count them.
  ///
  /// - Returns: the number of entries evicted.
  @discardableResult
  public func trim(toBytes bytes: UInt64) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    var count = 0
    while state.withLock({ used($0) }) > bytes {
      guard try evictOne(.bytes) else { break }
      count += 1
    }
    upkeep.request(.compact, of: self)
    return count
  }

  /// The bytes that the byte limit is held against.
  func used(_ state: borrowing StoreState) -> UInt64 {
    if let delegate = sizeDelegate.delegate { return delegate.size(of: statistics(state)) }
    let totals = state.index.totals
    switch state.limits.accounting {
    case .logical: return totals.logicalBytes
    case .allocated:
      return totals.bodyBytes + totals.overheadBytes + UInt64(state.journalBytes.all)
    }
  }

  /// Why an entry more, or none, would be beyond the limits.
  private func excess(addingBytes bytes: UInt64, entries: UInt64) -> RemovalReason? {
    state.withLock { state in
      follow(&state)
      let limits = state.limits
      if let most = limits.entries, UInt64(state.index.totals.entries) + entries > most {
        return .count
      }
      if let most = limits.bytes, used(state) + bytes > most { return .bytes }
      return nil
    }
  }

  /// Makes room for an entry before it is stored, so that the limits hold when it is there.
  ///
  /// - Throws: `noSpace` where all that is left is pinned; `leastRecent` where all that is left was
  ///   asked for later than an entry with a past.
  func makeRoom(for entry: NewEntry, _ hash: KeyHash) throws(StoreError) {
    let limits = limits
    if limits == .none { return }
    let (old, cost) = state.withLock { state -> (Slot?, UInt64) in
      let old = state.index.find(hash, entry.variant).map { state.index[$0] }
      return (old, added(by: entry, old, state))
    }
    let bound = entry.past.map { max($0.accessed.nanoseconds, old?.accessed ?? .min) }
    if limits.freeBytes > 0 {
      try keepFree(limits.freeBytes, adding: entry.length, olderThan: bound)
    }
    var hasCompacted = false
    while let reason = excess(addingBytes: cost, entries: old == nil ? 1 : 0) {
      // The upkeep makes more room than is needed: not for what may find no place at all.
      if bound == nil { upkeep.request(.evict, of: self) }
      if try evictOne(reason, olderThan: bound) { continue }
      // What crowds the store may be dead records.
      guard !hasCompacted, reason == .bytes else { throw full(bound) }
      compact()
      hasCompacted = true
    }
  }

  /// What storing an entry adds to the bytes that count.
  private func added(by entry: NewEntry, _ old: Slot?, _ state: borrowing StoreState) -> UInt64 {
    // What an entry is to a delegate shows when it is there.
    if sizeDelegate.delegate != nil { return 0 }
    let replaced = old?.length ?? 0
    switch state.limits.accounting {
    case .logical: return entry.length - min(entry.length, replaced)
    case .allocated:
      if old?.digest == entry.digest { return 0 }
      return planned(entry.length, state)
    }
  }

  private func full(_ bound: Int64?) -> StoreError {
    if bound != nil, state.withLock({ $0.index.oldest() }) != nil {
      return StoreError(
        .leastRecent, path: path,
        cause: "the store is at its limits, and all in it was asked for later",
        remedy: "raise the limits of the store")
    }
    return StoreError(
      .noSpace, path: path, cause: "the store is at its limits, and nothing more can be evicted",
      remedy: "unpin something, or raise the limits")
  }

  /// Evicts until the limits hold, and lets the upkeep go on to the low-water mark.
  func keepLimits() {
    while let reason = excess(addingBytes: 0, entries: 0) {
      upkeep.request(.evict, of: self)
      guard (try? evictOne(reason)) == true else { return }
    }
    if state.withLock({ wantsCompaction($0) }) { upkeep.request(.compact, of: self) }
  }

  /// Evicts the least recently accessed entry.
  ///
  /// - Parameter bound: only one that was accessed before goes.
  /// - Returns: false where there is none that may go.
  func evictOne(
    _ reason: RemovalReason, olderThan bound: Int64? = nil
  ) throws(StoreError) -> Bool {
    for _ in 0..<1000 {
      guard let victim = state.withLock({ $0.index.oldest() }),
        bound.map({ victim.accessed < $0 }) ?? true
      else { return false }
      if try remove(victim, reason) {
        state.withLock { $0.counters.evictions += 1 }
        return true
      }
    }
    return false
  }

  /// One step of the upkeep: evicts some entries down to the low-water mark, 95 percent of the limit.
  ///
  /// - Returns: whether there is more to do.
  func evictStep() -> Bool {
    for _ in 0..<32 {
      let reason = state.withLock { state -> RemovalReason? in
        if let most = state.limits.entries,
          UInt64(state.index.totals.entries) > most - most / 20
        {
          return .count
        }
        if let most = state.limits.bytes, used(state) > most - most / 20 { return .bytes }
        return nil
      }
      guard let reason, (try? evictOne(reason)) == true else { return false }
    }
    return true
  }

  // MARK: The volume

  /// Evicts until the volume has the free bytes that the limits leave to others.
  private func keepFree(
    _ free: UInt64, adding bytes: UInt64, olderThan bound: Int64?
  ) throws(StoreError) {
    while true {
      let available = room.known.withLock { known -> UInt64 in
        if known.written > 16 << 20,
          let volume = try? fileSystem.volume(of: place.root.raw)
        {
          known = RoomKeeper.Known(available: volume.availableBytes, written: 0)
        }
        let (sum, isTooLarge) = known.written.addingReportingOverflow(bytes)
        known.written = isTooLarge ? .max : sum
        return known.available - min(known.available, known.written)
      }
      if available >= free { return }
      room.known.withLock { $0.written = .max - bytes - bytes }
      guard try evictOne(.freeSpace, olderThan: bound) else {
        throw StoreError(
          .noSpace, path: path,
          cause: "\(available) bytes are free, \(free) are to be left to others",
          remedy: "free space on the disk, or leave less to others")
      }
    }
  }

  /// Makes room on a full disk.
  ///
  /// - Returns: whether something was evicted.
  func makeSpace(_ bytes: UInt64) -> Bool {
    if !evictsOnFullDisk { return false }
    var freed: UInt64 = 0
    var count = 0
    // The journal needs room, too, to say that entries are gone: a few small ones are not enough.
    while freed < bytes + 64 << 10 || count < 8 {
      guard let victim = state.withLock({ $0.index.oldest() }),
        (try? remove(victim, .freeSpace)) == true
      else { break }
      state.withLock { $0.counters.evictions += 1 }
      freed += victim.length + victim.overhead
      count += 1
    }
    return count > 0
  }
}
