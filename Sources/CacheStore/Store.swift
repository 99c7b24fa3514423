internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// A persistent store of bodies and metadata by key, in plain files.
///
/// All methods may be called from any thread, and block for as long as the disk takes; `AsyncStore`
/// is for async code. Several processes may have the same directory open.
/// Docs/Architecture.md describes a look-up and a put, Docs/Format.md the files on disk,
/// Docs/Durability.md the effects of a crash.
///
/// The store itself has no state. Docs/Architecture.md, "The engine", has the types that it consists of.
public final class Store: Sendable {
  /// The longest key in bytes.
  public static let maximumKeyBytes = 64 << 10
  /// The most bytes of key, fields, user info and tags of an entry together.
  public static let maximumMetadataBytes = 1 << 20
  /// The most variants of one key. One more replaces the least recently accessed variant that is
  /// not pinned.
  public static let maximumVariants = 64

  /// The path at which the store was opened.
  public let path: String
  /// The events that a change survives once the call has returned.
  public let durability: Durability
  /// Whether the store was opened for reading only.
  public let isReadOnly: Bool

  /// Whether there is a memory tier.
  let keepsInMemory: Bool
  package let catalog: Catalog
  let reader: JournalReader
  let settler: Settler
  let compactor: Compactor
  let accessTimes: AccessTimes
  package let recovery: Recovery
  let evictor: Evictor
  let upkeep: Upkeep
  let events = EventHub()
  let counters = Counters()

  /// Opens the store at `path`, or makes one if there is none.
  ///
  /// A store that was not closed, or whose journal or store.json is damaged, can be opened. Its
  /// intact entries are available at once, and the background thread repairs the rest.
  ///
  /// - Throws: `notFound`, `notADirectory`, `notAStore`, `permissionDenied`, `foreignOwner`,
  ///   `readOnly`, `newerFormat`, `invalidLimits`, `noSpace`, or `inputOutput`, with the path.
  /// - Complexity: O(records in the journal).
  public init(at path: String, options: Options = Options()) throws(StoreError) {
    try options.limits?.check(path)
    if case .within(let seconds) = options.settling, seconds < 1 {
      throw StoreError(
        .invalidLimits, path: path, cause: "entries cannot be settled within \(seconds) seconds",
        remedy: "give at least 1 second, or settle at once")
    }
    self.path = path
    durability = options.durability
    isReadOnly = options.isReadOnly
    keepsInMemory = options.memoryBytes > 0
    upkeep = Upkeep(options)
    let place = try StorePlace(path, options)
    let tree = Tree(place, Journal(place, options), options)
    catalog = try Catalog(tree, upkeep, options)
    reader = catalog.reader
    settler = Settler(catalog)
    compactor = Compactor(settler)
    accessTimes = AccessTimes(compactor)
    recovery = Recovery(compactor, events)
    evictor = Evictor(recovery, accessTimes, counters, options)
    var work: Set<UpkeepWork>
    do throws(StoreError) { work = try JournalOpening(catalog.writer).run() } catch {
      // So that deinit writes nothing.
      catalog.endClosing()
      throw error
    }
    if !isReadOnly,
      settler.volumeSync.hasUnwrittenFiles || catalog.state.withLock({ $0.journal.hasUnsynced })
    {
      work.insert(.compact)
    }
    upkeep.begin(evictor.perform)
    if let limits = options.limits, limits != self.limits, !isReadOnly { try setLimits(limits) }
    for work in work { upkeep.request(work) }
    if catalog.state.withLock({ $0.index.totals.unsettledEntries > 0 }) {
      upkeep.requestSettling(after: catalog.journal.settlingDelay)
    }
  }

  deinit { close() }

  /// Writes the access times that are still in memory, and closes the store. Later calls fail with
  /// `closed`, look-ups are misses for that reason, and there are no entries. May be called again.
  public func close() {
    guard let isRefused = catalog.beginClosing() else { return }
    if !isRefused && !isReadOnly { tidyBeforeClosing() }
    upkeep.stop()
    var showsCrash = true
    if !isRefused && !isReadOnly {
      writeAccessTimes()
      showsCrash = keepSessionIfNotCompared()
    }
    accessTimes.withdraw()
    catalog.endClosing()
    if !isRefused && !isReadOnly {
      if showsCrash { catalog.writer.markEnd() }
      catalog.tree.staging.giveSessionUp()
    }
    events.finish()
  }

  /// Lets the session stay if tree and journal are not compared yet after a crash, so that the next
  /// opening does it. One is enough. If the journal has a gap, it has to be one that shows that the gap is
  /// no older than this run of the machine.
  ///
  /// - Returns: false if there can be none, on a full disk for example: then the mark of a clean end must
  ///   not hide the crash.
  private func keepSessionIfNotCompared() -> Bool {
    let (isCompared, isWhole, mustSearch) = catalog.state.withLock {
      (!$0.endedUncleanly, $0.journal.isWhole, $0.mustSearch)
    }
    // A repair by `cachefsck` removes such sessions itself.
    if isCompared || isWhole && catalog.isSupervised && !mustSearch { return true }
    let dead = (try? recovery.deadSessionsNow()) ?? []
    if dead.contains(where: { isWhole || !catalog.tree.staging.isOfEarlierBoot($0) }) {
      return true
    }
    // Also a program that has only read leaves one.
    guard let session = try? catalog.writer.ownSession() else { return false }
    session.stays.store(true, ordering: .relaxed)
    session.isClosed.store(true, ordering: .relaxed)
    return true
  }

  /// Releases the lock that shows other processes that this one writes. The store stays open, and the
  /// next write takes the lock again.
  ///
  /// For an app on iOS that shares the store with its extensions: the system ends an app that is
  /// suspended with a lock in the shared container. Call this before the app is suspended, in a
  /// background task, because it may take a while, and when nothing else uses the store: also an
  /// access is written, with a lock, a second later. A `BodyWriter` keeps the lock until it is committed or
  /// discarded. Access times are written first, and the end of the journal is marked, so that the store counts as
  /// closed if the app is ended while it is suspended.
  ///
  /// - Returns: whether the lock is released. If not, a `BodyWriter` or another call still has it.
  @discardableResult
  public func relinquish() -> Bool {
    if isReadOnly || catalog.state.withLock({ $0.isClosed || $0.isClosing }) { return true }
    // This may make the journal long enough for a compaction, which takes locks.
    if (try? accessTimes.flush()) == nil { accessTimes.withdraw() }
    // What is settled later would take the lock again.
    _ = try? settler.settleAll(within: 1_000_000_000)
    upkeep.putOffSettling()
    waitUntilIdle()
    if keepSessionIfNotCompared() { catalog.writer.markEnd() }
    catalog.tree.staging.giveSessionUp()
    return !catalog.tree.staging.hasLock
  }

  /// Does the work that the background thread had no time for: writes access times, compares tree
  /// and journal, and removes old records from the journal (`Compactor.isPurgeDue`). Otherwise the
  /// journal of a store that only short-lived programs use would grow.
  private func tidyBeforeClosing() {
    writeAccessTimes()
    recovery.finishComparing()
    if !catalog.isSupervised { _ = try? settler.settleAll(within: 1_000_000_000) }
    if compactor.isPurgeDue { try? recovery.purge() }
    try? compactor.renewAfterFailedSync()
  }

  /// Writes the access times, if their record would not take the number by which a file shows that records
  /// are lost.
  private func writeAccessTimes() {
    let maySearch = catalog.state.withLock {
      $0.endedUncleanly && $0.journal.sequence == $0.journal.openedSequence
    }
    if !maySearch { try? accessTimes.flush() }
  }

  /// Returns a stream of the events of this store. A slow listener loses the oldest events first.
  ///
  /// - Parameter count: the most events that wait to be read.
  public func events(bufferingNewest count: Int = 1024) -> AsyncStream<StoreEvent> {
    events.stream(bufferingNewest: max(1, count))
  }

  /// Counts of the contents and the work of the store.
  ///
  /// - Complexity: O(segments of the journal).
  public var statistics: Statistics { evictor.statistics() }

  /// Waits until the background thread has done the work that is due: evictions, compaction,
  /// repair.
  public func waitUntilIdle() { upkeep.waitUntilIdle() }

  /// Writes the files of all entries that only the journal has; see ``Settling``.
  ///
  /// - Throws: `readOnly`, `closed`, `noSpace`, `inputOutput`: the error that prevents the first entry
  ///   from being written. It stays in the journal.
  /// - Complexity: O(such entries).
  public func settle() throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    try catalog.reader.checkReadable()
    recovery.completeIndex()
    while try !settler.settleAll() {
      // What is left is damaged. It is set aside.
      let left = settler.unsettledEntries
      upkeep.waitUntilIdle()
      if settler.unsettledEntries >= left { return }
    }
  }

  /// Writes the journal anew without the removed and replaced entries. Then it has neither their
  /// keys nor their header fields.
  ///
  /// - Throws: `readOnly`, `inputOutput` if the journal is damaged and cannot be written anew yet,
  ///   `noSpace`, `closed`.
  /// - Complexity: O(all entries).
  public func purge() throws(StoreError) { try recovery.purge() }

  // MARK: Limits

  /// From now on, this process evicts no entry that is accessed later: an entry for which only these
  /// could make room throws `leastRecent`. Other processes are not bound.
  ///
  /// - Parameter isOn: `false` ends it.
  package func keepRecent(_ isOn: Bool) { evictor.keepRecent(isOn) }

  /// The limits of the store, the same for all its users.
  public var limits: Limits { evictor.limits }

  /// Sets the limits for all users of the store, and evicts entries until they hold.
  ///
  /// - Throws: `invalidLimits` if they contradict each other or hold no entry, or if more bytes are
  ///   pinned than they allow; `readOnly`, `noSpace`, `inputOutput`, `closed`.
  public func setLimits(_ limits: Limits) throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    try limits.check(path)
    try evictor.setLimits(limits)
  }

  /// Evicts the least recently accessed entries until the store holds at most `bytes` bytes,
  /// counted as for its limits. Dead records of the journal do not count.
  ///
  /// - Returns: the number of entries evicted.
  @discardableResult
  public func trim(toBytes bytes: UInt64) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    return try evictor.trim(toBytes: bytes)
  }

  /// The bytes that a migration may fill; `nil` without a limit.
  ///
  /// If the journal counts, an eighth is left for dead records, and the room of the log, so that
  /// nothing has to be evicted on the way.
  package var plannedBytes: UInt64? {
    reader.withCurrentState { state in
      state.limits.bytes.map {
        state.limits.accounting == .logical ? $0 : $0 - $0 / 8 - UInt64(state.logBudget.bytes)
      }
    }
  }

  /// Returns the most bytes that a new entry takes.
  ///
  /// - Parameters:
  ///   - length: the length of its body.
  ///   - size: the size of its metadata.
  package func planned(_ length: UInt64, _ size: MetadataSize) -> UInt64 {
    catalog.state.withLock { $0.planned(length, size) }
  }

  /// Returns the most bytes that a present entry takes; 0 if there is none.
  package func planned(for key: ByteString, variant: UInt64) -> UInt64 {
    let hash = catalog.hash(key)
    return catalog.state.withLock { state in
      state.index.find(hash, variant).map { state.planned(state.index[$0]) } ?? 0
    }
  }

  /// Returns the most bytes that all entries take.
  ///
  /// - Complexity: O(entries).
  package func plannedForAll() -> UInt64 {
    reader.withCurrentState { state in
      (0..<UInt32(state.index.slotCount)).reduce(0) { sum, number in
        let slot = state.index[number]
        return slot.isLive ? sum + state.planned(slot) : sum
      }
    }
  }

  // MARK: The store itself

  /// Throws `closed`, or `newerFormat` if another program has converted the store, which closes it.
  package func checkOpen() throws(StoreError) {
    try catalog.state.withLock { state throws(StoreError) in try state.checkOpen(path) }
  }

  /// The seed of the key hashes.
  package var hashSeed: UInt64 { catalog.hashSeed }
  package var fileSystem: any FileSystem { catalog.fileSystem }
  package var clock: any WallClock { catalog.clock }
}
