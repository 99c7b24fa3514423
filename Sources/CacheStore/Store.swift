internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// A persistent store of bodies and metadata by key, in plain files.
///
/// All methods may be called from any thread, and block for as long as the disk takes; `AsyncStore` has
/// the same methods for async code. Several processes may have the same directory open. Docs:
/// Architecture.md has the path of a look-up and of a put, Format.md the files on disk, Durability.md
/// what survives a crash.
///
/// The store itself has no state: `Catalog` is the index with the journal, `Tree` has the files of the
/// entries, `Evictor` keeps the limits, `Recovery` puts right what a crash has left, and `Upkeep` is the
/// thread that does so in the background.
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

  /// Whether there is a memory tier.
  let keepsInMemory: Bool
  package let catalog: Catalog
  package let recovery: Recovery
  let evictor: Evictor
  let upkeep: Upkeep
  let events = EventHub()
  let counters = Counters()

  /// Opens the store at `path`, or makes one if there is nothing.
  ///
  /// A store that was not closed, or whose journal or store.json is damaged, opens: what is good is
  /// served, and the rest is put right in the background.
  ///
  /// - Throws: `notFound`, `notADirectory`, `notAStore`, `permissionDenied`, `foreignOwner`,
  ///   `readOnly`, `newerFormat`, `invalidLimits`, `noSpace`, or `inputOutput`, with the path.
  /// - Complexity: O(records in the journal).
  public init(at path: String, options: Options = Options()) throws(StoreError) {
    if let cause = options.limits?.contradiction {
      throw StoreError(.invalidLimits, path: path, cause: cause, remedy: "change one of them")
    }
    self.path = path
    durability = options.durability
    isReadOnly = options.isReadOnly
    keepsInMemory = options.memoryBytes > 0
    upkeep = Upkeep(options)
    let place = try StorePlace(path, options)
    let tree = Tree(place, Journal(place, options), options)
    catalog = try Catalog(tree, upkeep, options)
    recovery = Recovery(catalog, events)
    evictor = Evictor(recovery, counters, options)
    upkeep.attach(self)
    let work: UpkeepWork
    do throws(StoreError) { work = try catalog.open() } catch {
      // Nothing is written to a store that cannot be opened.
      catalog.endClosing()
      throw error
    }
    if let limits = options.limits, limits != self.limits, !isReadOnly { try setLimits(limits) }
    if !work.isEmpty { upkeep.request(work) }
  }

  deinit { close() }

  /// Writes the access times that are still in memory, and closes the store. Calls after it fail with
  /// `closed`, look-ups miss. May be called again.
  public func close() {
    guard let isRefused = catalog.beginClosing() else { return }
    if !isRefused && !isReadOnly { tidyBeforeClosing() }
    upkeep.stop()
    if !isRefused && !isReadOnly { try? catalog.flush() }
    catalog.endClosing()
    if !isRefused && !isReadOnly {
      catalog.markEnd()
      catalog.tree.staging.endSession()
    }
    events.finish()
  }

  /// Keeps the journal within its budget, also if many short-lived programs add to it one after the
  /// other; see `Catalog.isPurgeDue`.
  private func tidyBeforeClosing() {
    try? catalog.flush()
    recovery.finishComparing()
    if catalog.isPurgeDue { try? recovery.purge() }
    try? catalog.renewAfterFailedSync()
  }

  /// Returns what happens, as it happens. A slow listener loses the oldest events first.
  ///
  /// - Parameter count: the most events that wait.
  public func events(bufferingNewest count: Int = 1024) -> AsyncStream<StoreEvent> {
    events.stream(bufferingNewest: max(1, count))
  }

  /// What the store holds and has done.
  ///
  /// - Complexity: O(segments of the journal).
  public var statistics: Statistics { evictor.statistics() }

  /// Waits until the background work that is due has been done: evictions, compaction, repair.
  public func waitUntilIdle() { upkeep.waitUntilIdle() }

  /// Writes the journal anew, so that it holds nothing of what was removed or replaced: neither the
  /// keys nor the header fields of entries that are gone.
  ///
  /// - Throws: `readOnly`, `inputOutput` if the journal is damaged and cannot be written anew yet,
  ///   `noSpace`, `closed`.
  /// - Complexity: O(all entries).
  public func purge() throws(StoreError) { try recovery.purge() }

  // MARK: Limits

  /// The limits of the store, the same for all its users.
  public var limits: Limits { evictor.limits }

  /// Sets the limits for all users of the store, and evicts what is beyond them.
  ///
  /// - Throws: `invalidLimits` if they contradict each other or what is pinned; `readOnly`.
  public func setLimits(_ limits: Limits) throws(StoreError) {
    if isReadOnly { throw .readOnly(path) }
    if let cause = limits.contradiction {
      throw StoreError(.invalidLimits, path: path, cause: cause, remedy: "change one of them")
    }
    try evictor.setLimits(limits)
  }

  /// Evicts the least recently accessed entries until the store holds at most `bytes` bytes, as its
  /// limits count them; dead records of the journal do not count.
  ///
  /// - Returns: the number of entries evicted.
  @discardableResult
  public func trim(toBytes bytes: UInt64) throws(StoreError) -> Int {
    if isReadOnly { throw .readOnly(path) }
    return try evictor.trim(toBytes: bytes)
  }

  /// The bytes that may be filled; `nil` without a limit.
  ///
  /// If the journal counts, an eighth is left for dead records: then nothing has to be evicted for what
  /// was planned.
  package var plannedBytes: UInt64? {
    let limits = limits
    return limits.bytes.map { limits.accounting == .logical ? $0 : $0 - $0 / 8 }
  }

  /// The bytes that an entry with a body of a length takes, at most.
  package func planned(_ length: UInt64) -> UInt64 {
    catalog.state.withLock { catalog.planned(length, $0) }
  }

  /// The bytes that all entries take, at most.
  ///
  /// - Complexity: O(entries).
  package func plannedForAll() -> UInt64 {
    catalog.state.withLock { state in
      catalog.follow(&state)
      return (0..<UInt32(state.index.slotCount)).reduce(0) { sum, number in
        let slot = state.index[number]
        return slot.isLive ? sum + catalog.planned(slot.length, state) : sum
      }
    }
  }

  // MARK: The store itself

  /// The seed of this store's hashes.
  package var hashSeed: UInt64 { catalog.hashSeed }
  package var fileSystem: any FileSystem { catalog.fileSystem }
  package var clock: any WallClock { catalog.clock }
}
