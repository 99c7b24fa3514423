internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// Compaction: the entries that only the oldest segment has are settled, its live records are
/// appended again without bodies, and then its file is removed. Each step is small, other threads and
/// processes append in between, and a crash at any point leaves a journal with the same content.
///
/// `Compactor+Copy` copies the live records, `+Removed` makes removals durable before their records go,
/// `+Sync` writes the journal anew after a failed sync.
final class Compactor: CatalogUser {
  let catalog: Catalog
  let settler: Settler

  init(_ settler: Settler) {
    self.settler = settler
    catalog = settler.catalog
  }

  /// Keeps the journal within its budget. Called after appends that do not belong to compaction.
  /// The background thread does the work, unless it cannot keep up; then the caller does it.
  ///
  /// The caller holds no lock.
  func tendJournal() {
    if place.isReadOnly || place.isSupervised { return }
    let (isDue, isOverdue) = reader.state.withLock { state -> (Bool, Bool) in
      let isDue = state.wantsCompaction
      return (isDue, isDue && state.journalBudget().isOverdue(state.journal.bytes.all))
    }
    if isOverdue {
      compact(isWaiting: true)
    } else if isDue {
      upkeep.request(.compact)
    }
  }

  /// Drops segments until few dead records are left.
  ///
  /// Only records to which the index points are copied. So a damaged journal is not compacted:
  /// `reconcile` first recovers the entries of the tree.
  ///
  /// - Parameter isWaiting: whether to wait if another thread or process is compacting, instead of
  ///   leaving the work to it.
  func compact(isWaiting: Bool = false) {
    if reader.state.withLock({ $0.journal.hasDroppedFiles }) { try? removeDropped() }
    let isResolved = (try? settler.resolveUnwrittenFiles(isWaiting: isWaiting)) != nil
    if isResolved { try? renewAfterFailedSync() }
    if !reader.state.withLock({ $0.wantsCompaction }) { return }
    do throws(StoreError) {
      try journal.withCompactionLock(isWaiting: isWaiting) { () throws(StoreError) in
        try compactLocked(isWaiting: isWaiting)
      }
    } catch {
      // The disk is full or cannot be read, or this process has no descriptors left. The next accesses
      // would ask for it again at once.
      reader.state.withLock { putOffCompaction(&$0) }
    }
  }

  private func compactLocked(isWaiting: Bool) throws(StoreError) {
    let last = reader.withCurrentState { state in
      state.wantsCompaction ? state.journal.current?.number : nil
    }
    guard let last else { return }
    while isWaiting || !upkeep.isStopping {
      let isDone = reader.withCurrentState { state in
        !state.journal.isWhole || state.journal.firstNumber > last || state.isCompact
      }
      guard !isDone, try dropOldest() else { break }
    }
    reader.state.withLock { state in
      state.journal.failsToCompact = 0..<0
      // It did not help: the log has bodies whose files cannot be written, for example.
      if state.journal.isWhole, !state.isCompact { putOffCompaction(&state) }
    }
  }

  /// Lets compaction be tried again only after more was written.
  private func putOffCompaction(_ state: inout StoreState) {
    let all = state.journal.bytes.all + state.journal.bodies.all
    state.journal.failsToCompact = all..<all + max(4096, state.journalBudget().dead / 4)
  }

  /// Writes the journal anew without the removed and replaced entries. Then it has neither their
  /// keys nor their header fields. The index has every entry.
  func purge() throws(StoreError) {
    try reader.checkReadable()
    var isPurged = false
    try journal.withCompactionLock(isWaiting: true) { () throws(StoreError) in
      guard
        let last = reader.state.withLock({ $0.journal.isWhole ? $0.journal.current?.number : 0 })
      else {
        isPurged = true
        return
      }
      if last > 0 { isPurged = try dropSegments(through: last) }
    }
    reader.state.withLock { $0.journal.hasRemoved = $0.journal.hasRemoved && !isPurged }
    if isPurged { return }
    throw StoreError(
      .inputOutput, path: "\(path)/journal", cause: "the journal could not be written anew",
      remedy: "run cachefsck --repair safe, then try again")
  }

  /// Copies the live records of all segments up to the present one, which makes a damaged journal
  /// whole. The index has every entry now. Nothing is settled, because the caller may hold a shard:
  /// entries that only the log has are copied with their bodies.
  ///
  /// - Returns: false if it could not be done now.
  @discardableResult
  func renewJournal() throws(StoreError) -> Bool {
    guard let last = reader.state.withLock({ $0.journal.current?.number }) else { return false }
    let isRenewed = try dropSegments(through: last, untilStopped: true, settles: false)
    // Unless damage was found meanwhile.
    reader.state.withLock { state in
      if isRenewed, state.journal.coverage == .completed { state.journal.coverage = .whole }
    }
    return isRenewed
  }

  /// Drops the oldest segments one after the other, up to a number.
  ///
  /// - Parameters:
  ///   - untilStopped: whether to give up when the store is closed.
  ///   - settles: whether their entries are settled first.
  /// - Returns: whether all of them are gone.
  private func dropSegments(
    through last: UInt32, untilStopped: Bool = false, settles: Bool = true
  ) throws(StoreError) -> Bool {
    var tries = 0
    while reader.state.withLock({ $0.journal.firstNumber }) <= last {
      if untilStopped && upkeep.isStopping { return false }
      if try dropOldest(settles: settles) {
        tries = 0
        continue
      }
      // While its records were copied, another thread or process has appended one, or is just about
      // to store or remove one of its entries.
      tries += 1
      if tries == Self.mostTries { return false }
      if tries > 4 { pause(nanoseconds: 2_000_000) }
    }
    return true
  }

  private static var mostTries: Int { 24 }

  /// Copies the live records of the oldest segment, and drops it.
  ///
  /// - Returns: false if it could not be dropped.
  private func dropOldest(settles: Bool = true) throws(StoreError) -> Bool {
    let (number, isCurrent) = reader.state.withLock {
      ($0.journal.firstNumber, $0.journal.segments.count == 1)
    }
    if isCurrent { journal.rollsNext.store(true, ordering: .relaxed) }
    if reader.state.withLock({ $0.journal.hasBodies(number) }) {
      // What cannot be settled now, because the disk is full for example, is copied with its body.
      if settles { _ = try? settler.settleLocked(through: number) }
      // Bodies may have been on disk for an hour in the segment, and for a second as files. So this is
      // done at both levels of durability.
      if settles { try settler.synchronizeSettled() } else { try settler.volumeSync.synchronize() }
    }
    try copyLive(of: number)
    guard try makeRemovalsDurable(of: number) else { return false }
    return try drop(number)
  }

  /// Appends the record that a segment is no longer needed, and removes its file.
  private func drop(_ number: UInt32) throws(StoreError) -> Bool {
    let placed = try writer.append { state throws(StoreError) -> [[UInt8]] in
      // The segment stays if it still has live records, or if the index may lack entries.
      guard state.journal.firstNumber == number, state.isComplete,
        state.journal.segments.count > 1 || journal.rollsNext.load(ordering: .relaxed),
        state.journal.first?.liveBytes ?? 0 <= 0
      else { return [] }
      return [DropRecord.bytes(through: UInt64(number))]
    }
    guard let placed else { return false }
    try writer.syncJournal(placed)
    try removeDropped()
    return true
  }

  /// Removes the files of segments that the journal has dropped, also those that a killed process
  /// has left.
  private func removeDropped() throws(StoreError) {
    try journal.withLock { () throws(StoreError) in
      let first = reader.state.withLock { state in
        state.journal.hasDroppedFiles = true
        return min(state.journal.firstNumber, state.journal.oldestNeeded)
      }
      let areGone = try journal.removeSegments(before: first)
      reader.state.withLock { $0.journal.hasDroppedFiles = !areGone }
    }
  }

  /// Whether the journal is to be written anew at closing: it was begun a day ago or more, has
  /// records of removals, and is short. Such records are kept for a day, because a loss of power
  /// may bring the removed files back.
  var isPurgeDue: Bool {
    if place.isSupervised { return false }
    return reader.state.withLock { state in
      guard state.isIndexWhole, state.journal.hasRemoved,
        state.journal.bytes.live < Self.quickPurgeBytes,
        let first = state.journal.first
      else { return false }
      // Damage may have made any time, and a clock that was wrong one that is to come.
      let (age, isFar) = tree.clock.now().subtractingReportingOverflow(
        first.segment.created.nanoseconds)
      return isFar || age < 0 || age > Self.purgeAgeNanoseconds
    }
  }

  /// The live bytes up to which a journal is written anew at closing.
  private static var quickPurgeBytes: Int64 { 16 << 20 }
  private static var purgeAgeNanoseconds: Int64 { 86_400_000_000_000 }
}
