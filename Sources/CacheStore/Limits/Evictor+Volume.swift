internal import CLibrary
internal import CacheSystem
internal import Synchronization

/// The free space on the volume. It is queried again after some bytes were written.
struct VolumeRoom {
  private(set) var available: UInt64 = 0
  private(set) var availableFiles: UInt64 = 0
  /// The bytes written since the last query.
  private var written: UInt64 = 0
  /// The number of reasons for a new query so far, and of those before the last query.
  private(set) var reasons: UInt64 = 1
  private var knownReasons: UInt64 = 0

  /// The bytes that may be written before the next query, if far more are free.
  static let recheckBytes: UInt64 = 16 << 20
  /// The number of free inodes from which they are queried for each entry.
  static let fewFiles: UInt64 = 16_384
  /// With fewer free bytes, bodies are stored in files at once, because the log keeps them for a while
  /// after their files are written.
  static let logBytes: UInt64 = 64 << 20

  /// Makes a new query due.
  mutating func expire() { reasons += 1 }

  /// Returns whether a new query is due, with so many bytes of entries in the log.
  private func isDue(_ unsettled: UInt64) -> Bool {
    knownReasons < reasons || written > Self.recheckBytes || availableFiles < Self.fewFiles
      || available < unsettled + Self.logBytes + Self.recheckBytes
  }

  /// Counts bytes that will be written.
  ///
  /// - Returns: the bytes that will be free then, or `nil` if a new query is due.
  mutating func take(_ bytes: UInt64, unsettled: UInt64) -> UInt64? {
    isDue(unsettled) ? nil : taking(bytes, unsettled)
  }

  /// Notes the result of a query, and counts bytes that will be written.
  ///
  /// - Parameter reasons: the number of reasons before the query. Others have come meanwhile if it is
  ///   higher now, and the next call queries again.
  /// - Returns: the bytes that will be free then.
  mutating func take(
    _ bytes: UInt64, unsettled: UInt64, of status: VolumeStatus, after reasons: UInt64
  ) -> UInt64 {
    (available, availableFiles) = (status.availableBytes, status.availableFiles)
    (written, knownReasons) = (0, reasons)
    return taking(bytes, unsettled)
  }

  private mutating func taking(_ bytes: UInt64, _ unsettled: UInt64) -> UInt64 {
    written = bytes > .max - written ? .max : written + bytes
    return available - min(available, unsettled > .max - written ? .max : written + unsettled)
  }
}

/// The bytes and inodes that a store leaves free as long as it may evict something: also on a full disk,
/// compaction, records of removals and the files of entries in the log need room.
private struct VolumeReserve {
  let bytes: UInt64
  let files: UInt64

  /// Makes the reserve of a store: at most an eighth of what it holds, so that it does not empty itself
  /// on a disk that others have filled.
  init(_ state: borrowing StoreState, segmentBytes: Int64) {
    let totals = state.index.totals
    bytes = min(256 << 10 + UInt64(segmentBytes), (totals.bodyBytes + totals.overheadBytes) / 8)
    // Entries in the log have no files yet.
    files = min(32, UInt64(totals.entries - totals.unsettledEntries) / 8)
  }
}

/// The bytes that are free on the volume, and those that a store could free.
private struct VolumeSpace {
  let free: UInt64
  let removable: UInt64

  /// Returns whether there is room for a body and the bytes that have to stay free.
  func holds(_ length: UInt64, leaving kept: UInt64) -> Bool {
    let (wanted, isTooLarge) = length.addingReportingOverflow(kept)
    return !isTooLarge && wanted - min(wanted, free) <= removable
  }
}

extension Evictor {
  /// The bytes or inodes that are missing on the volume.
  private struct Lack {
    let free: UInt64
    let wanted: UInt64
    /// Whether inodes are missing. It is not known how many an eviction frees.
    var isOfFiles = false
  }

  /// Frees room on the volume until nothing is missing any more. Before entries are evicted, replaced ones
  /// are deleted, and dead records dropped.
  ///
  /// - Returns: false if something is missing, and `evict` evicts nothing or does not help.
  private func free(
    _ lack: () throws(StoreError) -> Lack?, evict: () throws(StoreError) -> Slot?
  ) throws(StoreError) -> Bool {
    var (isSwept, hasDropped, hasEvictedLogged) = (false, false, false)
    var pending = PendingSpace()
    while let missing = try lack() {
      // What was written may have taken the place of something, and others may have freed bytes.
      volume.withLock { $0.expire() }
      if !isSwept {
        isSwept = true
        catalog.tree.staging.sweepReplaced()
        continue
      }
      if !hasDropped {
        hasDropped = true
        if dropDeadRecords(of: missing.wanted - min(missing.wanted, missing.free)) { continue }
      }
      switch missing.isOfFiles
        ? .evict : pending.step(free: missing.free, wanted: missing.wanted)
      {
      case .evict:
        if let evicted = try evict() {
          pending.add(freedBytes(of: evicted))
          hasEvictedLogged = hasEvictedLogged || evicted.isUnsettled
          continue
        }
      case .synchronize:
        try? compactor.settler.volumeSync.flush()
        continue
      case .giveUp: break
      }
      // The bodies of entries in the log leave the disk with their records.
      if !hasEvictedLogged {
        // Others may have freed meanwhile what was missing.
        return try lack() == nil
      }
      (hasDropped, hasEvictedLogged) = (false, false)
    }
    return true
  }

  /// Evicts entries until the volume has the free bytes that the limits demand, after so many more were
  /// written.
  ///
  /// - Parameters:
  ///   - bytes: the bytes to be written.
  ///   - claim: the bytes for which there must be room in all if something is to be evicted; by default
  ///     those to be written. Asked for when something has to go.
  ///   - isImported: whether they are those of an entry with `ImportedTimes`: nothing is evicted for it.
  ///   - replaced: the entry that will be replaced; asked for when something has to go.
  func keepFree(
    _ free: UInt64, adding bytes: UInt64, claiming claim: @autoclosure () -> UInt64? = nil,
    isImported: Bool, forSpare isSpare: Bool,
    sparing replaced: @autoclosure () -> Slot?,
    planned: (borrowing StoreState) -> EntryTotals = { $0.index.totals }
  ) throws(StoreError) {
    var available: UInt64 = 0
    var refusal: StoreError?
    let isKept = try self.free { () throws(StoreError) in
      available = try system(path) { () throws(SystemError) in try freeBytes(adding: bytes) }
      return available < free ? Lack(free: available, wanted: free) : nil
    } evict: { () throws(StoreError) in
      if isImported { return nil }
      // Nothing is evicted if the free bytes are not known, or for what cannot be stored anyway.
      let space = try system(path) { () throws(SystemError) in try self.space(evicting: true) }
      do throws(StoreError) { try check(space, for: claim() ?? bytes, leaving: free) } catch {
        refusal = error
        return nil
      }
      return try evictOne(
        .freeSpace, forSpare: isSpare, sparing: replaced(), planned: planned)
    }
    if isKept { return }
    if let refusal { throw refusal }
    let error = full(.freeSpace, nil)
    if !isImported, error.code == .leastRecent { throw error }
    throw StoreError(
      .noSpace, path: path,
      cause: "\(available) bytes are free on the volume, the limits leave \(free) bytes free",
      remedy: "free space on the disk, or lower that limit")
  }

  func queryVolume() throws(SystemError) -> VolumeStatus {
    try catalog.fileSystem.volume(of: catalog.place.root.raw)
  }

  /// Returns the most bytes that an entry still takes on the volume, with the directories of key and
  /// shard. A staged body is there already, and the volume is queried again.
  func room(for entry: NewEntry) -> UInt64 {
    if entry.isStaged { volume.withLock { $0.expire() } }
    let length = entry.isStaged ? 0 : entry.length
    return length + min(5 * catalog.place.blockBytes, .max - length)
  }

  /// Returns the bytes that will be free on the volume after so many more were written, and the entries
  /// in the log were settled.
  private func freeBytes(adding bytes: UInt64) throws(SystemError) -> UInt64 {
    let unsettled = catalog.state.withLock { $0.index.totals.unsettledBytes }
    let (free, reasons) = volume.withLock { ($0.take(bytes, unsettled: unsettled), $0.reasons) }
    if let free { return free }
    // Not under the lock, because the file system may be a caller's.
    let status = try queryVolume()
    let isTight = status.availableBytes < unsettled + VolumeRoom.logBytes
    catalog.state.withLock { $0.isVolumeTight = isTight }
    return volume.withLock {
      $0.take(bytes, unsettled: unsettled, of: status, after: reasons)
    }
  }

  /// Evicts entries before the volume is full, as many as there are. If nothing may be evicted, or the
  /// volume cannot be queried, the new entry is tried all the same.
  func keepReserve(
    adding entry: NewEntry, _ hash: KeyHash, _ limits: Limits, replacing old: Slot?
  ) {
    if entry.past != nil { return }
    let bytes = room(for: entry)
    if !evictsOnFullDisk {
      // What the volume has decides also where the body is stored.
      _ = try? freeBytes(adding: bytes)
      return
    }
    var evictions: UInt64 = 0
    _ = try? free { () throws(StoreError) in
      let reserve = catalog.state.withLock {
        VolumeReserve($0, segmentBytes: $0.journalBudget().segmentBytes)
      }
      // `keepFree` counts the entry if it keeps more bytes free.
      let isEnough = limits.freeBytes >= reserve.bytes
      guard let free = try? freeBytes(adding: isEnough ? 0 : bytes) else { return nil }
      // XFS tells only later that inodes are free.
      let lacksFiles =
        evictions < reserve.files && volume.withLock { $0.availableFiles } < reserve.files
      if isEnough || free >= reserve.bytes, !lacksFiles { return nil }
      return Lack(free: free, wanted: reserve.bytes, isOfFiles: lacksFiles)
    } evict: { () throws(StoreError) in
      try checkSpace(for: entry.isStaged ? 0 : entry.length)
      evictions += 1
      return try evictOne(
        .freeSpace, forSpare: entry.isSpare, sparing: old,
        planned: { totals($0, adding: entry, EntrySize(), hash).0 })
    }
  }

  /// Writes the journal anew if that frees more than so many bytes, before an entry is evicted for
  /// them.
  ///
  /// - Returns: whether the journal was written anew.
  private func dropDeadRecords(of bytes: UInt64) -> Bool {
    let (spare, live) = catalog.state.withLock { ($0.journal.spareBytes, $0.journal.bytes.live) }
    // All live records are written again, so few dead ones are not worth it, and room is needed.
    guard spare > max(Int64(clamping: max(bytes, 64 << 10)), live / 4),
      let room = try? queryVolume().availableBytes,
      room >= UInt64(clamping: live),
      (try? recovery.purge()) != nil
    else { return false }
    volume.withLock { $0.expire() }
    return true
  }

  /// Returns the bytes that are free on the volume, and about how many more the store could free: those
  /// of dead records, and of the entries that may be evicted.
  private func space(evicting: Bool) throws(SystemError) -> VolumeSpace {
    let free = try queryVolume().availableBytes
    let removable = catalog.state.withLock { state -> UInt64 in
      let dead = UInt64(clamping: state.journal.spareBytes)
      if !evicting { return dead }
      let totals = state.index.totals
      let all = totals.bodyBytes + totals.overheadBytes
      return dead + all - min(all, totals.leastPinnedBytes)
    }
    return VolumeSpace(free: free, removable: removable)
  }

  /// Throws `noSpace` if the volume has no room for a body, even without all entries that may be
  /// evicted for it. So nothing is evicted for a body that cannot be stored anyway.
  ///
  /// - Parameter kept: the bytes that have to stay free.
  func checkSpace(for length: UInt64, leaving kept: UInt64 = 0) throws(StoreError) {
    // For the free bytes that the limits demand, entries go although they may not for a full disk.
    guard let space = try? space(evicting: evictsOnFullDisk || kept > 0) else { return }
    try check(space, for: length, leaving: kept)
  }

  private func check(
    _ space: VolumeSpace, for length: UInt64, leaving kept: UInt64
  ) throws(StoreError) {
    if space.holds(length, leaving: kept) { return }
    throw StoreError(
      .noSpace, path: path,
      cause: "\(length) bytes are needed, \(space.free) are free on the volume, and the store "
        + "could free \(space.removable)"
        + (kept > 0 ? "; the limits leave \(kept) bytes free" : ""),
      remedy: kept > 0 ? "free space on the disk, or lower that limit" : "free space on the disk")
  }

  /// Whether the volume has hardly any room, or the quota has none, of which the volume does not tell. Then
  /// files have to go before their records.
  func isFull(_ error: StoreError) -> Bool { error.errno == EDQUOT || isVolumeFull }

  private var isVolumeFull: Bool {
    guard let volume = try? queryVolume() else { return false }
    return volume.availableBytes < 64 << 10 || volume.availableFiles < 8
  }

  private func lacksRoom(for bytes: UInt64) -> Bool {
    guard let volume = try? queryVolume() else { return true }
    return volume.availableBytes < bytes + 64 << 10 || volume.availableFiles < 8
  }

  /// Calls `body`, and if the disk is full, makes room and calls it once more.
  ///
  /// - Parameters:
  ///   - bytes: the bytes that it writes.
  ///   - claim: see `keepFree`.
  func withRoom<R>(
    for bytes: UInt64 = 0, claiming claim: @autoclosure () -> UInt64? = nil,
    _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) { return try body() } catch  where error.code == .noSpace {
      guard makeSpace(bytes, claiming: claim()) else { throw error }
      return try body()
    }
  }

  /// Makes room on a full disk.
  ///
  /// - Parameters:
  ///   - bytes: the bytes that are to be written.
  ///   - claim: see `keepFree`.
  /// - Returns: whether there is some now.
  func makeSpace(_ bytes: UInt64, claiming claim: UInt64? = nil) -> Bool {
    // Replaced entries wait for their deletion, and others must not go for them.
    if catalog.tree.staging.hasReplaced, lacksRoom(for: bytes) {
      catalog.tree.staging.sweepReplaced()
      if !lacksRoom(for: bytes) { return true }
    }
    if dropDeadRecords(of: bytes) { return true }
    if (try? checkSpace(for: claim ?? bytes)) == nil { return false }
    if !evictsOnFullDisk { return false }
    var freed: UInt64 = 0
    var count = 0
    // The records of the evictions need room, too, so at least eight entries are evicted, or half a MiB.
    while freed < bytes + 64 << 10 || count < 8 && freed < bytes + 512 << 10 {
      guard let evicted = try? evictOne(.freeSpace) else { break }
      freed += freedBytes(of: evicted)
      count += 1
    }
    // Others may have freed some meanwhile.
    return count > 0 || !lacksRoom(for: bytes)
  }
}
