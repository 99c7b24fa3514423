internal import Synchronization

/// What a store holds and has done, all kept up to date in constant time.
public struct Statistics: Sendable, Hashable {
  /// The number of entries.
  public var entries = 0
  /// The sum of the body lengths.
  public var logicalBytes: UInt64 = 0
  /// What is allocated on disk: bodies, metadata, directories, journal; in whole blocks.
  public var allocatedBytes: UInt64 = 0
  /// What is held against the byte limit: the body lengths, or what is allocated, with the room that
  /// is set aside for dead records of the journal in place of those that are there.
  public var chargedBytes: UInt64 = 0
  /// The lengths of the bodies that share another one's file: saved by content addressing.
  public var sharedBytes: UInt64 = 0
  /// The number of pinned entries.
  public var pinnedEntries = 0
  /// The lengths of the pinned bodies.
  public var pinnedBytes: UInt64 = 0
  /// The length of the journal in bytes.
  public var journalBytes: UInt64 = 0
  /// The bytes of the journal that no entry needs any more.
  public var deadJournalBytes: UInt64 = 0
  /// The entries in the memory tier.
  public var memoryEntries = 0
  /// The bytes of bodies and metadata in the memory tier.
  public var memoryBytes = 0
  /// The bytes of the index in memory.
  public var indexBytes = 0
  /// The look-ups of this process that found an entry, since it opened the store.
  public var hits: UInt64 = 0
  /// The hits among them that were answered from memory.
  public var memoryHits: UInt64 = 0
  /// The look-ups of this process that found nothing to return.
  public var misses: UInt64 = 0
  /// The misses among them whose entry is damaged.
  public var damagedMisses: UInt64 = 0
  /// The entries that this process has stored.
  public var stores: UInt64 = 0
  /// The entries that this process has evicted.
  public var evictions: UInt64 = 0
  /// Places of the journal that could not be read, found since opening.
  public var journalDamages: UInt64 = 0
  /// Whether the index knows every entry. Until it does, a look-up also searches the files.
  public var isComplete = true
}

extension Statistics {
  /// Takes the numbers from the state of a store.
  ///
  /// - Parameter charged: the bytes that the byte limit is held against.
  init(_ state: borrowing StoreState, charged: UInt64, _ counters: Counters) {
    let totals = state.index.totals
    let journal = state.journal.bytes
    entries = totals.entries
    logicalBytes = totals.logicalBytes
    chargedBytes = charged
    allocatedBytes = totals.bodyBytes + totals.overheadBytes + UInt64(journal.all)
    sharedBytes = totals.sharedBytes
    pinnedEntries = totals.pinnedEntries
    pinnedBytes = totals.pinnedBytes
    journalBytes = UInt64(journal.all)
    deadJournalBytes = UInt64(max(0, journal.all - journal.live))
    memoryEntries = state.memory.count
    memoryBytes = state.memory.bytes
    indexBytes = state.index.memoryBytes
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

/// What this process has done with a store since it was opened; see `Statistics`.
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
