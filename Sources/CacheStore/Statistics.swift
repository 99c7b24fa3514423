/// What a store holds and has done, all kept up to date in constant time.
public struct Statistics: Sendable, Hashable {
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
  public var pinnedEntries = 0
  /// The lengths of the pinned bodies.
  public var pinnedBytes: UInt64 = 0
  public var journalBytes: UInt64 = 0
  /// The bytes of the journal that say nothing any more.
  public var deadJournalBytes: UInt64 = 0
  /// The entries in the memory tier.
  public var memoryEntries = 0
  /// The bytes of bodies and metadata in the memory tier.
  public var memoryBytes = 0
  /// The bytes of the index in memory.
  public var indexBytes = 0
  /// Since this process opened the store, by this process:
  public var hits: UInt64 = 0
  public var memoryHits: UInt64 = 0
  public var misses: UInt64 = 0
  /// The misses of damaged entries among them.
  public var damagedMisses: UInt64 = 0
  public var stores: UInt64 = 0
  public var evictions: UInt64 = 0
  /// Places of the journal that could not be read, found since opening.
  public var journalDamages: UInt64 = 0
  /// Whether the index knows every entry; while it does not, the tree is asked, too.
  public var isComplete = true
}
