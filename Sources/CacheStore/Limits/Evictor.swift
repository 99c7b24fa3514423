internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The enforcement of a store's limits: it computes the size of entries, and evicts the least
/// recently accessed ones.
///
/// `Evictor+Room` computes sizes and makes room for a new entry; `Evictor+Volume` keeps space free
/// on the volume.
final class Evictor: CatalogUser {
  let catalog: Catalog
  let recovery: Recovery
  let compactor: Compactor
  let accessTimes: AccessTimes
  let events: EventHub
  let counters: Counters
  /// Whether entries are evicted if the disk is full.
  let evictsOnFullDisk: Bool
  /// The last known free space on the volume.
  let volume = Lock(VolumeRoom())
  private let sizeDelegate: WeakSizeDelegate
  /// What was accessed from this time on is not evicted by this process.
  private let keptSince = Atomic<Int64>(.max)

  init(
    _ recovery: Recovery, _ accessTimes: AccessTimes, _ counters: Counters, _ options: Options
  ) {
    self.recovery = recovery
    self.accessTimes = accessTimes
    compactor = recovery.compactor
    self.counters = counters
    catalog = recovery.catalog
    events = recovery.events
    evictsOnFullDisk = options.evictsOnFullDisk
    sizeDelegate = WeakSizeDelegate(options.sizeDelegate)
  }

  /// The delegate that counts the size of the store, if there is one.
  var delegate: (any StoreSizeDelegate)? { sizeDelegate.delegate }

  /// The limits of the store, the same for all its users.
  var limits: Limits { reader.withCurrentState { $0.limits } }

  /// Records new limits, and evicts entries until they hold. On a full disk, some go first, to make
  /// room for the record.
  func setLimits(_ limits: Limits) throws(StoreError) {
    try withRoom { () throws(StoreError) in try record(limits) }
    if excess() != nil { accessTimes.waitForTouches() }
    keepLimits()
  }

  private func record(_ limits: Limits) throws(StoreError) {
    // A delegate may count in another unit.
    let countsBytes = delegate == nil
    let volumeBytes = (try? queryVolume())?.totalBytes ?? 0
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      try limits.checkFreeBytes(path, after: state.limits, volumeBytes: volumeBytes)
      if countsBytes {
        try limits.checkLeastBytes(path, after: state.limits, blockBytes: state.index.blockBytes)
      }
      let (pinned, entries) = (state.index.totals.pinnedBytes, state.index.totals.pinnedEntries)
      if let most = limits.entries, UInt64(entries) > most {
        throw StoreError(
          .invalidLimits, path: path,
          cause: "\(entries) entries are pinned, the new limits allow \(most)",
          remedy: "unpin something first, or allow more")
      }
      if pinned > limits.pinQuota {
        throw StoreError(
          .invalidLimits, path: path,
          cause: "\(pinned) bytes are pinned, the new limits allow \(limits.pinQuota)"
            + (limits.pinnedBytes == nil ? ", half of all" : ""),
          remedy: "unpin something first, or raise the limit of pinned bytes")
      }
      return [limits.record.bytes]
    }
    if let placed { try compactor.sync(placed) }
  }

  /// Evicts entries until they take at most `bytes` bytes, without the room for dead records.
  ///
  /// - Returns: the number of entries evicted.
  func trim(toBytes bytes: UInt64) throws(StoreError) -> Int {
    var count = 0
    if held() > bytes { accessTimes.waitForTouches() }
    while held() > bytes {
      guard try evictOne(.bytes) != nil else { break }
      count += 1
    }
    compactor.tendJournal()
    return count
  }

  /// Evicts entries until the limits hold.
  func keepLimits() {
    while let reason = excess(), (try? evictOne(reason)) != nil {}
    compactor.tendJournal()
  }

  /// Evicts up to 32 entries, as long as more than 95 percent of a limit stay in use. One step of
  /// the upkeep.
  ///
  /// - Returns: whether there is more to do.
  func evictStep() -> Bool {
    for _ in 0..<32 {
      guard let reason = reasonForMoreRoom(), (try? evictOne(reason)) != nil
      else { return false }
    }
    return true
  }

  /// From now on, evicts no entry that is accessed later; or ends that.
  func keepRecent(_ isOn: Bool) {
    let time = isOn ? catalog.state.withLock { $0.tick(catalog.clock.now()) } : .max
    keptSince.store(time, ordering: .relaxed)
  }

  /// Lets an entry count as accessed now, or at another time, for this process alone: others are evicted
  /// before it.
  ///
  /// - Returns: the entry; `nil` if there is none.
  @discardableResult
  func putOff(_ hash: KeyHash, _ variant: UInt64, to time: Int64? = nil) -> Slot? {
    let now = catalog.clock.now()
    return catalog.state.withLock { state in
      guard let number = state.index.find(hash, variant) else { return nil }
      state.index.touch(number, at: time.map { min($0, now) } ?? state.tick(now))
      return state.index[number]
    }
  }

  /// Evicts the least recently accessed entry, or spare entry if these have more than their share.
  /// Waits first for the access times of other processes, unless it has done so within the last
  /// second.
  ///
  /// - Parameters:
  ///   - reason: the limit for which it goes.
  ///   - bound: if given, the least recently accessed entry is evicted, spare or not, and only if it was
  ///     accessed before this time.
  ///   - isForSpare: whether the room is for a spare entry, for which no other entry goes if the
  ///     spare ones have more than their share.
  ///   - replaced: the entry that will be replaced, which does not go.
  ///   - planned: returns the totals with the entry that needs the room; by default those of now.
  /// - Returns: the evicted entry; `nil` if none may be evicted.
  /// - Throws: the error for which the chosen entries could not be removed.
  func evictOne(
    _ reason: RemovalReason, olderThan bound: Int64? = nil, forSpare isForSpare: Bool = false,
    sparing replaced: Slot? = nil,
    planned: (borrowing StoreState) -> EntryTotals = { $0.index.totals }
  ) throws(StoreError) -> Slot? {
    accessTimes.waitForTouches(unlessWithin: PendingTouches.delayNanoseconds)
    // What fails here concerns all entries.
    try reader.checkReadable()
    do throws(StoreError) { _ = try writer.ownSession() } catch  where error.code != .noSpace {
      throw error
    } catch {
      // The files of an entry make room for a session.
    }
    var failures: [StoreError] = []
    for _ in 0..<1000 {
      let end = min(bound ?? .max, keptSince.load(ordering: .relaxed))
      let victim = catalog.state.withLock { state -> Slot? in
        if bound != nil { return state.index.oldest() }
        return state.victim(
          reason, planned(state), before: end, forSpare: isForSpare, sparing: replaced)
      }
      // Damage may have made a time of `.max`.
      guard let victim, victim.accessed < end || end == .max,
        !victim.isSameEntry(as: replaced)
      else { break }
      do throws(StoreError) {
        if try remove(victim, reason) {
          counters.evictions.add(1, ordering: .relaxed)
          return victim
        }
      } catch  where error.mayBeOfOneEntry && failures.count < Store.maximumAttempts {
        failures.append(error)
        putOff(victim.keyHash, victim.variant)
      }
    }
    if let failure = failures.last { throw failure }
    return nil
  }

  /// Returns the error for an entry for which there is no room, because of a limit.
  func full(_ reason: RemovalReason, _ bound: Int64?) -> StoreError {
    let cause =
      switch reason {
      case .count: "the store has \(limits.entries ?? 0) entries, its limit"
      case .freeSpace: "the store has to leave \(limits.freeBytes) bytes of the volume free"
      default: "the store has its limit of \(limits.bytes ?? 0) bytes"
      }
    let isKeeping = keptSince.load(ordering: .relaxed) < .max
    if bound != nil || isKeeping, catalog.state.withLock({ $0.index.oldest() }) != nil {
      return StoreError(
        .leastRecent, path: path, cause: "\(cause), and all its entries were accessed later",
        remedy: "raise the limits of the store")
    }
    return StoreError(
      .noSpace, path: path, cause: "\(cause), and nothing more can be evicted",
      remedy: "unpin something, or raise the limits")
  }

  // MARK: Removing an entry

  /// Removes one entry. If the reason is a limit, the entry is removed only if it is unpinned and has
  /// neither changed nor been accessed since it was chosen; if it is the age, accesses do not matter.
  ///
  /// - Parameter exactly: whether an entry that has changed since then stays in any case.
  ///
  /// The record is written before the files are removed. So files that a crash leaves are orphans,
  /// and no entry lacks its files.
  ///
  /// - Returns: whether it was removed.
  func remove(
    _ slot: Slot, _ reason: RemovalReason, exactly: Bool = false
  ) throws(StoreError) -> Bool {
    if catalog.isReadOnly { throw .readOnly(path) }
    let victim = Victim(slot: slot, reason: reason, isExact: exactly)
    do throws(StoreError) {
      return try removeWithRecord(victim)
    } catch  where error.code == .noSpace {
      // The record has no room, or the session of this process. The files of the entry make some. If the
      // process ends in between, the entry is a miss.
      guard isFull(error), try removeFilesAlone(of: victim) else { throw error }
      return try removeWithRecord(victim)
    }
  }

  /// Removes the files of an entry whose record cannot be written.
  ///
  /// - Returns: false if the entry has none, or may no longer be removed.
  private func removeFilesAlone(of victim: Victim) throws(StoreError) -> Bool {
    let slot = victim.slot
    if slot.isUnsettled { return false }
    return try catalog.withShard(of: slot.keyHash) { shard throws(StoreError) in
      let entries = shard.entries
      let found = reader.withCurrentState { state -> (gone: Slot, others: [Slot])? in
        guard state.entries === entries,
          let number = state.index.find(slot.keyHash, slot.variant),
          victim.mayGo(state.index[number]), !state.index[number].isUnsettled
        else { return nil }
        return (state.index[number], otherFiles(of: slot, state))
      }
      guard let found else { return false }
      tree.removeFiles(of: found.gone, found.others, in: shard)
      return true
    }
  }

  /// Returns the other variants of a key that have files.
  private func otherFiles(of slot: Slot, _ state: borrowing StoreState) -> [Slot] {
    state.index.variants(of: slot.keyHash).map { state.index[$0] }
      .filter { $0.variant != slot.variant && !$0.isUnsettled }
  }

  private func removeWithRecord(_ victim: Victim) throws(StoreError) -> Bool {
    let slot = victim.slot
    _ = try writer.ownSession()
    for attempt in 0..<Store.maximumAttempts {
      let outcome =
        if slot.isUnsettled && attempt == 0 {
          try remove(victim, in: nil) { _, _ in }
        } else {
          try catalog.withShard(of: slot.keyHash) { shard throws(StoreError) in
            try remove(victim, in: shard.entries) { gone, others in
              tree.removeFiles(of: gone, others, in: shard)
            }
          }
        }
      switch outcome {
      case .outdated: continue
      case .kept: return false
      case .removed:
        // Sent after the shard was unlocked.
        events.send(.removed(victim.reason), bytes: slot.length)
        return true
      }
    }
    if victim.reason == .asked { throw .contended(path) }
    return false
  }

  private enum Removal {
    case removed
    /// The entry has changed, or may no longer be removed.
    case kept
    /// All entries were removed meanwhile, or the entry was settled.
    case outdated
  }

  /// Appends the record of a removal, and then removes the files.
  ///
  /// - Parameters:
  ///   - entries: the directory of the entries, whose shard is locked; `nil` for an entry that has no
  ///     files, so that no shard need be locked.
  ///   - removeFiles: removes the files of the entry, given the settled variants that stay.
  private func remove(
    _ victim: Victim, in entries: EntriesDirectory?,
    _ removeFiles: (Slot, _ others: [Slot]) -> Void
  ) throws(StoreError) -> Removal {
    let slot = victim.slot
    var isOutdated = false
    var others: [Slot] = []
    var gone = slot
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      let number = state.index.find(slot.keyHash, slot.variant)
      isOutdated =
        if let entries {
          state.entries !== entries
        } else {
          number.map { !state.index[$0].isUnsettled } ?? false
        }
      guard !isOutdated, let number, victim.mayGo(state.index[number]) else { return [] }
      gone = state.index[number]
      others = otherFiles(of: slot, state)
      return [
        RemoveRecord(keyHash: slot.keyHash, variant: slot.variant, reason: victim.reason).bytes
      ]
    }
    if isOutdated { return .outdated }
    guard let placed else { return .kept }
    // The files go first, because after a failed sync the journal is written anew without the record.
    if !gone.isUnsettled { removeFiles(gone, others) }
    tree.staging.deleteReplaced(gone.keyHash)
    // An evicted entry may be there again after a power cut. One that was removed on request may
    // not.
    if victim.reason == .asked { try compactor.sync(placed) }
    return .removed
  }
}

/// An entry that was chosen to be removed.
private struct Victim {
  let slot: Slot
  let reason: RemovalReason
  /// Whether it stays if it has changed.
  let isExact: Bool

  /// Returns whether it may still be removed. For its age, only one that has not been replaced or
  /// pinned since it was chosen; by a limit, only one that has not been accessed either.
  func mayGo(_ now: Slot) -> Bool {
    if reason == .asked { return !isExact || now.isSameRecord(as: slot) }
    return now.isSameRecord(as: slot) && !now.isPinned
      && (reason == .age || now.accessed == slot.accessed)
  }
}

extension StoreState {
  /// Returns the entry that goes next for a limit: the least recently accessed spare entry if these
  /// have more than their share, otherwise the least recently accessed entry.
  ///
  /// - Parameters:
  ///   - reason: the limit.
  ///   - totals: the sums, perhaps with an entry to be stored.
  ///   - end: a spare entry that was accessed at this time or later does not go before others.
  ///   - isForSpare: whether no other than a spare entry goes for more than the share.
  ///   - replaced: the entry that will be replaced. If it is the only spare one, others go.
  mutating func victim(
    _ reason: RemovalReason, _ totals: EntryTotals, before end: Int64 = .max,
    forSpare isForSpare: Bool = false, sparing replaced: Slot? = nil
  ) -> Slot? {
    if limits.isSpareShareExceeded(totals, for: reason) {
      if let spare = index.oldestSpare(), spare.accessed < end,
        !spare.isSameEntry(as: replaced)
      {
        return spare
      }
      if isForSpare { return nil }
    }
    return index.oldest()
  }
}

extension Slot {
  fileprivate func isSameEntry(as other: Slot?) -> Bool {
    keyHash == other?.keyHash && variant == other?.variant
  }
}

/// A weak reference to the size delegate.
private struct WeakSizeDelegate: Sendable {
  weak let delegate: (any StoreSizeDelegate)?
  init(_ delegate: (any StoreSizeDelegate)?) { self.delegate = delegate }
}
