internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// A persistent store of bodies and metadata by key, in plain files.
///
/// All methods may be called from any thread, and block for as long as the disk takes; see
/// `AsyncStore` for the async face. Several processes may have the same directory open. Docs:
/// Architecture.md has the ways of a hit and of a store, Format.md what lies on disk, Durability.md
/// what survives what.
public final class Store: Sendable {
  /// The longest key in bytes.
  public static let maximumKeyBytes = 64 << 10
  /// The most bytes of key, fields, user info and tags of an entry together.
  public static let maximumMetadataBytes = 1 << 20
  /// The most variants of one key; storing one more takes the place of the least recently accessed.
  public static let maximumVariants = 64

  /// The path that the store was opened at.
  public let path: String
  /// What survives once a call has returned.
  public let durability: Durability
  /// Whether nothing is written.
  public let isReadOnly: Bool

  /// Whether the upkeep does nothing by itself.
  let isSupervised: Bool
  package let place: StorePlace
  package let hashSeed: UInt64
  /// Whether a full disk evicts.
  let evictsOnFullDisk: Bool
  /// Whether there is a memory tier.
  let keepsInMemory: Bool
  let journalSizes: JournalSizes
  package let fileSystem: any FileSystem
  package let clock: any WallClock
  let state: Mutex<StoreState>
  /// One thread of this process appends at a time.
  let appendTurn = Mutex<Void>(())
  let journalSync = JournalSync()
  /// Set when the current segment must not be appended to any more.
  let rollsNext = Atomic<Bool>(false)
  let session = SessionBox()
  let sharedTail: JournalTail
  let eventHub = EventHub()
  let verifiedBodies = VerifiedBodies()
  let upkeep = Upkeep()
  let room = RoomKeeper()
  let sizeDelegate: WeakSizeDelegate

  /// Opens the store at `path`, or makes one where nothing is.
  ///
  /// A store that was not closed, or whose journal or store.json is damaged, opens: what is good is
  /// served, and it is put right in the background.
  ///
  /// - Throws: `notFound`, `notADirectory`, `notAStore`, `permissionDenied`, `foreignOwner`,
  ///   `readOnly`, `newerFormat`, `invalidLimits`, `noSpace`, or `inputOutput`, with the path.
  /// - Complexity: O(records in the journal).
  public init(at path: String, options: Options = Options()) throws(StoreError) {
    if let cause = options.limits?.contradiction {
      throw StoreError(.invalidLimits, path: path, cause: cause, remedy: "change one of them")
    }
    place = try StorePlace(path, options)
    self.path = path
    durability = options.durability
    isReadOnly = options.isReadOnly
    isSupervised = options.isSupervised
    fileSystem = options.fileSystem
    clock = options.clock
    sizeDelegate = WeakSizeDelegate(options.sizeDelegate)
    evictsOnFullDisk = options.evictsOnFullDisk
    keepsInMemory = options.memoryBytes > 0
    journalSizes = options.journal
    hashSeed = place.description.hashSeed
    let entries = EntriesDirectory(generation: 0, directory: try place.openEntries())
    let state = StoreState(
      blockBytes: place.blockBytes, entries: entries, memoryBytes: options.memoryBytes,
      indexFolder: options.keepsIndexInFile ? path : nil)
    sharedTail = state.sharedTail
    self.state = Mutex(state)
    try start(options.limits)
  }

  deinit { close() }

  /// Reads the journal, sets the limits, and begins the upkeep where there is some to do.
  private func start(_ limits: Limits?) throws(StoreError) {
    var work: UpkeepWork = []
    if isReadOnly {
      try state.withLock { state throws(StoreError) in
        try load(&state)
        try holdAgainstMark(&state)
      }
    } else {
      work = try withJournalLock { () throws(StoreError) -> UpkeepWork in
        try state.withLock { state throws(StoreError) in
          try load(&state)
          try holdAgainstMark(&state)
        }
        if try hasDeadSessions() {
          state.withLock { $0.endedUncleanly = true }
          return .reconcile
        }
        try state.withLock { state throws(StoreError) in
          // Nobody was killed while writing, so the end was whole and has been damaged.
          guard state.tornBytes > 0 else { return }
          if state.isJournalWhole { try noteRemovals(&state) }
          state.isJournalWhole = false
          state.journalDamages += 1
        }
        return []
      }
    }
    state.withLock { state in
      if state.current == nil && hasEntries(state.entries) { state.isJournalWhole = false }
      state.isComplete = state.isJournalWhole
      if !state.isComplete { work.insert(.reconcile) }
      if wantsCompaction(state) || state.hasDroppedFiles { work.insert(.compact) }
    }
    if !isReadOnly && !isSupervised && state.withLock({ $0.current == nil }) { beginJournal() }
    if let limits, limits != self.limits, !isReadOnly { try setLimits(limits) }
    if !work.isEmpty { upkeep.request(work, of: self) }
  }

  /// Whether there are entries though there is no journal at all.
  private func hasEntries(_ entries: EntriesDirectory) -> Bool {
    var isEmpty = true
    try? fileSystem.list(entries.directory.raw) { _, _ in
      isEmpty = false
      return false
    }
    return !isEmpty
  }

  /// Holds the lock of the journal while `body` runs.
  func withJournalLock<R: Sendable>(
    _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try appendTurn.withLock { _ throws(StoreError) -> R in
      do throws(SystemError) {
        try fileSystem.lock(place.lock)
      } catch {
        throw StoreError(error, path: "\(path)/lock")
      }
      defer { fileSystem.unlock(place.lock.raw) }
      return try body()
    }
  }

  /// The hash of a key in this store.
  @inline(__always)
  func hash(_ key: ByteString) -> KeyHash { KeyHash(hashing: key, seed: hashSeed) }

  /// Gives 16 bytes that stand for `bytes` in this store and tell nobody without its secret seed what
  /// they were: for comparing what must not be written to the disk, such as credentials.
  ///
  /// XXH3-128 with the seed of `store.json`: who can read that file can try guesses.
  public func fingerprint(of bytes: [UInt8]) -> [UInt8] {
    let hash = hash(ByteString(bytes: bytes))
    return [hash.high, hash.low].flatMap { half in
      (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) }
    }
  }

  /// Writes what is still in memory (access times) and lets the store go. Calls after it fail with
  /// `closed`, look-ups miss. May be called again.
  public func close() {
    let wasOpen = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    guard wasOpen else { return }
    if !isReadOnly && journalSync.needsRenewal.load(ordering: .relaxed) {
      state.withLock { $0.isClosed = false }
      try? renewAfterFailedSync()
      state.withLock { $0.isClosed = true }
    }
    upkeep.stop()
    if !isReadOnly {
      state.withLock { $0.isClosed = false }
      try? flush()
      state.withLock { $0.isClosed = true }
      markEnd()
      endSession()
    }
    eventHub.finish()
  }

  /// Tells what happens, as it happens. A slow listener loses the oldest events first.
  ///
  /// - Parameter count: the most events that wait.
  public func events(bufferingNewest count: Int = 1024) -> AsyncStream<StoreEvent> {
    eventHub.stream(bufferingNewest: max(1, count))
  }

  /// What the store holds and has done.
  ///
  /// - Complexity: O(segments of the journal).
  public var statistics: Statistics {
    state.withLock { state in
      follow(&state)
      return statistics(state)
    }
  }

  func statistics(_ state: borrowing StoreState) -> Statistics {
    let totals = state.index.totals
    let journal = state.journalBytes
    var result = Statistics()
    result.entries = totals.entries
    result.logicalBytes = totals.logicalBytes
    result.allocatedBytes =
      totals.bodyBytes + totals.overheadBytes + UInt64(journal.all)
    result.sharedBytes = totals.sharedBytes
    result.pinnedEntries = totals.pinnedEntries
    result.pinnedBytes = totals.pinnedBytes
    result.journalBytes = UInt64(journal.all)
    result.deadJournalBytes = UInt64(max(0, journal.all - journal.live))
    result.memoryEntries = state.memory.count
    result.memoryBytes = state.memory.bytes
    result.indexBytes = state.index.memoryBytes
    result.hits = state.counters.hits
    result.memoryHits = state.counters.memoryHits
    result.misses = state.counters.misses
    result.damagedMisses = state.counters.damagedMisses
    result.stores = state.counters.stores
    result.evictions = state.counters.evictions
    result.journalDamages = state.journalDamages
    result.isComplete = state.isComplete
    return result
  }
}

/// Holds the size delegate weakly.
struct WeakSizeDelegate: Sendable {
  weak let delegate: (any StoreSizeDelegate)?
  init(_ delegate: (any StoreSizeDelegate)?) { self.delegate = delegate }
}
