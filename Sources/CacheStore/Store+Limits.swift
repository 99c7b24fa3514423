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
    if excess() != nil { waitForTouches() }
    keepLimits()
  }

  /// Evicts the least recently accessed entries until the store holds at most `bytes` bytes, as its
  /// limits count them; dead records of the journal do not count.
  ///
  /// - Returns: the number of entries evicted.
  @discardableResult
  public func trim(toBytes bytes: UInt64) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    var count = 0
    if state.withLock({ held($0) }) > bytes { waitForTouches() }
    while state.withLock({ held($0) }) > bytes {
      guard try evictOne(.bytes) else { break }
      count += 1
    }
    tendJournal()
    return count
  }

  func full(_ bound: Int64?) -> StoreError {
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

  /// Evicts until the limits hold, and no more.
  func keepLimits() {
    while let reason = excess() {
      guard (try? evictOne(reason)) == true else { break }
    }
    tendJournal()
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

  // MARK: The volume

  /// Evicts until the volume has the free bytes that the limits leave to others.
  func keepFree(
    _ free: UInt64, adding bytes: UInt64, olderThan bound: Int64?
  ) throws(StoreError) {
    var hasDropped = false
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
      if !hasDropped {
        hasDropped = true
        if dropDeadRecords(of: free - available) { continue }
      }
      room.known.withLock { $0.written = .max - bytes - bytes }
      guard try evictOne(.freeSpace, olderThan: bound) else {
        throw StoreError(
          .noSpace, path: path,
          cause: "\(available) bytes are free, \(free) are to be left to others",
          remedy: "free space on the disk, or leave less to others")
      }
    }
  }

  /// Writes the journal anew where so many bytes of it are dead: no entry goes for their sake.
  ///
  /// - Returns: whether that made room.
  private func dropDeadRecords(of bytes: UInt64) -> Bool {
    let journal = state.withLock { $0.journal.bytes }
    guard journal.all - journal.live > Int64(clamping: max(bytes, 64 << 10)),
      (try? purge()) != nil
    else { return false }
    room.known.withLock { $0.written = .max }
    return true
  }

  /// Makes room on a full disk.
  ///
  /// - Returns: whether something was evicted.
  func makeSpace(_ bytes: UInt64) -> Bool {
    if dropDeadRecords(of: bytes) { return true }
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
