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
  package let fileSystem: any FileSystem
  package let clock: any WallClock
  let state: Lock<StoreState>
  let journal: Journal
  let session = SessionBox()
  let sharedTail: JournalTail
  let eventHub = EventHub()
  let verifiedBodies = VerifiedBodies()
  let upkeep = Upkeep()
  let pendingTouches = PendingTouches()
  /// Nothing: for waiting a while.
  let pause = Monitor(())
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
    journal = Journal(place, options)
    hashSeed = place.description.hashSeed
    let entries = EntriesDirectory(generation: 0, directory: try place.openEntries())
    let state = StoreState(
      blockBytes: place.blockBytes, entries: entries, memoryBytes: options.memoryBytes)
    sharedTail = state.journal.sharedTail
    self.state = Lock(state, .store)
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
      work = try journal.withLock { () throws(StoreError) -> UpkeepWork in
        try state.withLock { state throws(StoreError) in
          try load(&state)
          try holdAgainstMark(&state)
        }
        // What a process that was killed left of a segment, before it had a number.
        try? fileSystem.removeFile(Layout.newSegment, in: place.journal.raw)
        if try hasDeadSessions() {
          state.withLock { $0.endedUncleanly = true }
          return .reconcile
        }
        try state.withLock { state throws(StoreError) in
          // Nobody was killed while writing, so the end was whole and has been damaged.
          guard state.journal.tornBytes > 0 else { return }
          if state.journal.isWhole { try noteRemovals(&state) }
          state.journal.noteDamage()
        }
        // While another process has the store open, it is not at its end.
        let isUnmarked = state.withLock { $0.journal.isWhole && !$0.journal.endedAsMarked }
        guard isUnmarked, try !hasLiveSessions() else { return [] }
        state.withLock { $0.endedUncleanly = true }
        return .reconcile
      }
    }
    state.withLock { state in
      state.isOpened = true
      if state.journal.current == nil && hasEntries(state.entries) { state.journal.isWhole = false }
      state.isComplete = state.journal.isWhole
      if !state.isComplete { work.insert(.reconcile) }
      if wantsCompaction(state) || state.journal.hasDroppedFiles { work.insert(.compact) }
    }
    if !isReadOnly && !isSupervised && state.withLock({ $0.journal.current == nil }) {
      beginJournal()
    }
    if let limits, limits != self.limits, !isReadOnly { try setLimits(limits) }
    if !work.isEmpty { upkeep.request(work, of: self) }
  }

  /// Whether there are entries though there is no journal at all.
  func hasEntries(_ entries: EntriesDirectory) -> Bool {
    var isEmpty = true
    try? fileSystem.list(entries.directory.raw) { _, _ in
      isEmpty = false
      return false
    }
    return !isEmpty
  }

  /// The hash of a key in this store.
  @inline(__always)
  func hash(_ key: ByteString) -> KeyHash { KeyHash(hashing: key, seed: hashSeed) }

  /// Writes what is still in memory (access times) and lets the store go. Calls after it fail with
  /// `closed`, look-ups miss. May be called again.
  public func close() {
    let (wasOpen, isRefused) = state.withLock { state in
      defer { state.isClosed = true }
      return (!state.isClosed, state.refusal != nil)
    }
    if isRefused {
      // The store belongs to a newer program: nothing is written any more.
      upkeep.stop()
      eventHub.finish()
    }
    guard wasOpen else { return }
    if !isReadOnly { tidyBeforeClosing() }
    if !isReadOnly && journal.sync.needsRenewal.load(ordering: .relaxed) {
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

  /// Leaves the journal within its budget, also where many short-lived programs add to it one after
  /// the other. See `isPurgeDue` for what it tells of removed entries: for a day it keeps that, because
  /// a loss of power may bring their files back.
  private func tidyBeforeClosing() {
    state.withLock { $0.isClosed = false }
    try? flush()
    finishComparing()
    if isPurgeDue && !isSupervised { try? purge() }
    state.withLock { $0.isClosed = true }
  }

  /// Gives the comparison of tree and journal a second: where it needs no longer, programs that end at
  /// once leave no traces of one that was killed before them.
  private func finishComparing() {
    if isSupervised || state.withLock({ !$0.endedUncleanly && $0.isComplete }) { return }
    upkeep.waitUntilIdle(nanoseconds: 1_000_000_000)
  }

  /// Whether the journal is to be written anew at closing: it was begun a day ago or more, tells of
  /// removals, and is short.
  private var isPurgeDue: Bool {
    state.withLock { state in
      guard state.journal.hasRemoved, state.journal.bytes.live < Self.quickPurgeBytes,
        let first = state.journal.segments.first ?? nil
      else { return false }
      return clock.now() - first.segment.created.nanoseconds > Self.purgeAgeNanoseconds
    }
  }

  /// The live bytes up to which a journal is written anew at closing.
  private static var quickPurgeBytes: Int64 { 16 << 20 }
  private static var purgeAgeNanoseconds: Int64 { 86_400_000_000_000 }

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
    let journal = state.journal.bytes
    var result = Statistics()
    result.entries = totals.entries
    result.logicalBytes = totals.logicalBytes
    result.chargedBytes = counted(totals, live: 0, state)
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
    result.journalDamages = state.journal.damages
    result.isComplete = state.isComplete
    return result
  }
}

/// Holds the size delegate weakly.
struct WeakSizeDelegate: Sendable {
  weak let delegate: (any StoreSizeDelegate)?
  init(_ delegate: (any StoreSizeDelegate)?) { self.delegate = delegate }
}
