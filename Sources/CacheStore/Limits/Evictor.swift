internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// Keeps a store within its limits: says what entries take, and evicts the least recently accessed.
///
/// `Evictor+Room` counts and makes room for a new entry; `Evictor+Volume` watches the free space.
final class Evictor: Sendable {
  let path: String
  let catalog: Catalog
  let tree: Tree
  let recovery: Recovery
  let upkeep: Upkeep
  let events: EventHub
  let counters: Counters
  /// Whether a full disk evicts.
  let evictsOnFullDisk: Bool
  /// What is known of the free space on the volume.
  let volume = Mutex(VolumeRoom())
  private let sizeDelegate: WeakSizeDelegate

  init(_ recovery: Recovery, _ counters: Counters, _ options: Options) {
    self.recovery = recovery
    self.counters = counters
    catalog = recovery.catalog
    tree = recovery.tree
    upkeep = recovery.upkeep
    events = recovery.events
    path = catalog.path
    evictsOnFullDisk = options.evictsOnFullDisk
    sizeDelegate = WeakSizeDelegate(options.sizeDelegate)
  }

  /// The delegate that counts the size of the store, if there is one.
  var delegate: (any StoreSizeDelegate)? { sizeDelegate.delegate }

  /// The limits of the store, the same for all its users.
  var limits: Limits {
    catalog.state.withLock { state in
      catalog.follow(&state)
      return state.limits
    }
  }

  /// Records new limits, and evicts what is beyond them.
  func setLimits(_ limits: Limits) throws(StoreError) {
    let placed = try catalog.append { state throws(StoreError) -> [[UInt8]] in
      let pinned = state.index.totals.pinnedBytes
      if pinned > limits.pinQuota {
        throw StoreError(
          .invalidLimits, path: path,
          cause: "\(pinned) bytes are pinned, the new limits allow \(limits.pinQuota)",
          remedy: "unpin something first")
      }
      return [limits.record.bytes]
    }
    if let placed { try catalog.sync(placed) }
    if excess() != nil { catalog.waitForTouches() }
    keepLimits()
  }

  /// Evicts until the entries take at most `bytes` bytes, without the room for dead records.
  ///
  /// - Returns: the number of entries evicted.
  func trim(toBytes bytes: UInt64) throws(StoreError) -> Int {
    var count = 0
    if held() > bytes { catalog.waitForTouches() }
    while held() > bytes {
      guard try evictOne(.bytes) != nil else { break }
      count += 1
    }
    catalog.tendJournal()
    return count
  }

  /// Evicts until the limits hold, and no more.
  func keepLimits() {
    while let reason = excess() {
      guard (try? evictOne(reason)) != nil else { break }
    }
    catalog.tendJournal()
  }

  /// One step of the upkeep: evicts some entries, as long as 95 percent of the limit stay in use.
  ///
  /// - Returns: whether there is more to do.
  func evictStep() -> Bool {
    for _ in 0..<32 {
      guard let reason = reasonForMoreRoom(), (try? evictOne(reason)) != nil
      else { return false }
    }
    return true
  }

  /// Evicts the least recently accessed entry. Waits for the accesses of other processes, unless it has
  /// done so within the last second.
  ///
  /// - Parameter bound: only an entry that was accessed before is evicted.
  /// - Returns: the entry; `nil` if there is none that may be evicted.
  func evictOne(
    _ reason: RemovalReason, olderThan bound: Int64? = nil
  ) throws(StoreError) -> Slot? {
    catalog.waitForTouches(unlessWithin: PendingTouches.delayNanoseconds)
    for _ in 0..<1000 {
      guard let victim = catalog.state.withLock({ $0.index.oldest() }),
        bound.map({ victim.accessed < $0 }) ?? true
      else { return nil }
      if try remove(victim, reason) {
        counters.evictions.add(1, ordering: .relaxed)
        return victim
      }
    }
    return nil
  }

  /// The error for an entry that finds no room.
  func full(_ bound: Int64?) -> StoreError {
    if bound != nil, catalog.state.withLock({ $0.index.oldest() }) != nil {
      return StoreError(
        .leastRecent, path: path,
        cause: "the store is at its limits, and all its entries were accessed later",
        remedy: "raise the limits of the store")
    }
    return StoreError(
      .noSpace, path: path, cause: "the store is at its limits, and nothing more can be evicted",
      remedy: "unpin something, or raise the limits")
  }

  // MARK: Removing an entry

  /// Removes one entry if it is still the same.
  ///
  /// The record comes first: from then on nobody finds the entry, and files that a crash leaves are
  /// orphans, not damage.
  ///
  /// - Returns: whether it was removed.
  func remove(_ slot: Slot, _ reason: RemovalReason) throws(StoreError) -> Bool {
    if catalog.isReadOnly { throw .readOnly(path) }
    _ = try catalog.ownSession()
    for _ in 0..<Store.maximumAttempts {
      let outcome = try catalog.withShard(of: slot.keyHash) { shard throws(StoreError) in
        try remove(slot, reason, in: shard)
      }
      switch outcome {
      case .outdated: continue
      case .kept: return false
      case .removed:
        // Sent when the shard is free again.
        events.send(.removed(reason), bytes: slot.length)
        return true
      }
    }
    return false
  }

  private enum Removal {
    case removed
    /// The entry has changed, or may not be evicted any more.
    case kept
    /// All entries were removed meanwhile.
    case outdated
  }

  private func remove(
    _ slot: Slot, _ reason: RemovalReason, in shard: borrowing Shard
  ) throws(StoreError) -> Removal {
    var isOutdated = false
    var others: [Slot] = []
    var gone = slot
    let entries = shard.entries
    let placed = try catalog.append { state throws(StoreError) -> [[UInt8]] in
      isOutdated = state.entries !== entries
      guard !isOutdated, let number = state.index.find(slot.keyHash, slot.variant),
        reason == .asked || isVictim(state.index[number], slot)
      else { return [] }
      gone = state.index[number]
      others = state.index.variants(of: slot.keyHash).map { state.index[$0] }
        .filter { $0.variant != slot.variant }
      return [
        RemoveRecord(keyHash: slot.keyHash, variant: slot.variant, reason: reason).bytes
      ]
    }
    if isOutdated { return .outdated }
    guard let placed else { return .kept }
    // An entry that a limit evicts may be there again after a power cut. One that was removed on request
    // may not.
    if reason == .asked { try catalog.sync(placed) }
    tree.removeFiles(of: gone, others, in: shard)
    return .removed
  }

  /// Tells whether an entry may be removed by a limit or as damaged: nobody has accessed or pinned it
  /// since it was chosen.
  private func isVictim(_ now: Slot, _ chosen: Slot) -> Bool {
    now.isSameRecord(as: chosen) && !now.isPinned && now.accessed == chosen.accessed
  }
}

/// Holds the size delegate weakly.
private struct WeakSizeDelegate: Sendable {
  weak let delegate: (any StoreSizeDelegate)?
  init(_ delegate: (any StoreSizeDelegate)?) { self.delegate = delegate }
}
