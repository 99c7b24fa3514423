internal import Synchronization

/// Counts of the contents and the work of a store. Each is updated in constant time.
public struct Statistics: Sendable, Hashable {
  /// The number of entries.
  public var entries = 0
  /// The sum of the body lengths.
  public var logicalBytes: UInt64 = 0
  /// The bytes allocated on disk in whole blocks: bodies, metadata, directories, journal.
  public var allocatedBytes: UInt64 = 0
  /// The bytes that are compared with the byte limit: the sum of the body lengths, or the bytes
  /// allocated on disk. The latter include the room that is set aside for dead records of the
  /// journal, instead of the dead records that there are. Without a byte limit, the number
  /// means nothing.
  public var chargedBytes: UInt64 = 0
  /// The lengths of the bodies that share the file of another body. These bytes are not stored
  /// again.
  public var sharedBytes: UInt64 = 0
  /// The number of pinned entries.
  public var pinnedEntries = 0
  /// The lengths of the pinned bodies.
  public var pinnedBytes: UInt64 = 0
  /// The entries that only the journal has, because their files have not been written yet.
  public var unsettledEntries = 0
  /// The bytes of their bodies and directories that are to be written. `allocatedBytes` does not
  /// include them.
  public var unsettledBytes: UInt64 = 0
  /// The length of the journal in bytes.
  public var journalBytes: UInt64 = 0
  /// The bytes of the journal that no entry needs, with the bodies of entries that have files.
  public var deadJournalBytes: UInt64 = 0
  /// The entries in the memory tier.
  public var memoryEntries = 0
  /// The bytes of bodies and metadata in the memory tier.
  public var memoryBytes = 0
  /// The look-ups of this process that found an entry, since it opened the store.
  public var hits: UInt64 = 0
  /// The hits that were answered from memory.
  public var memoryHits: UInt64 = 0
  /// The look-ups of this process that found nothing to return.
  public var misses: UInt64 = 0
  /// The misses because of a damaged entry.
  public var damagedMisses: UInt64 = 0
  /// The entries that this process has stored.
  public var stores: UInt64 = 0
  /// The entries that this process has evicted.
  public var evictions: UInt64 = 0
  /// The unreadable places of the journal that were found since the store was opened.
  public var journalDamages: UInt64 = 0
  /// Whether the index has every entry. Until then, a look-up also searches the files.
  public var isComplete = true
}

extension Statistics {
  /// Takes the numbers from the state of a store.
  ///
  /// - Parameter charged: the bytes that are compared with the byte limit.
  init(_ state: borrowing StoreState, charged: UInt64, _ counters: Counters) {
    let totals = state.index.totals
    let journal = state.journal.bytes
    entries = totals.entries
    logicalBytes = totals.logicalBytes
    chargedBytes = charged
    unsettledEntries = totals.unsettledEntries
    unsettledBytes = totals.unsettledBytes
    journalBytes = UInt64(journal.all + state.journal.bodies.all)
    allocatedBytes =
      totals.bodyBytes + totals.overheadBytes - totals.unsettledBytes + journalBytes
    sharedBytes = totals.sharedBytes
    pinnedEntries = totals.pinnedEntries
    pinnedBytes = totals.pinnedBytes
    deadJournalBytes = UInt64(max(0, state.journal.spareBytes))
    memoryEntries = state.memory.count
    memoryBytes = state.memory.bytes
    hits = counters.hits.load(ordering: .relaxed)
    memoryHits = counters.memoryHits.load(ordering: .relaxed)
    misses = counters.misses.load(ordering: .relaxed)
    damagedMisses = counters.damagedMisses.load(ordering: .relaxed)
    stores = counters.stores.load(ordering: .relaxed)
    evictions = counters.evictions.load(ordering: .relaxed)
    journalDamages = state.journal.damages
    isComplete = state.isComplete
  }
}

/// The work of this process on a store since it was opened; see `Statistics`.
final class Counters: Sendable {
  let hits = Atomic<UInt64>(0)
  let memoryHits = Atomic<UInt64>(0)
  let misses = Atomic<UInt64>(0)
  let damagedMisses = Atomic<UInt64>(0)
  let stores = Atomic<UInt64>(0)
  let evictions = Atomic<UInt64>(0)

  /// Counts a hit.
  @inline(__always)
  func hit(_ source: EntrySource) {
    hits.add(1, ordering: .relaxed)
    if source == .memory { memoryHits.add(1, ordering: .relaxed) }
  }

  /// Counts a miss.
  @inline(__always)
  func miss(_ reason: MissReason) {
    misses.add(1, ordering: .relaxed)
    if reason == .damaged { damagedMisses.add(1, ordering: .relaxed) }
  }
}
