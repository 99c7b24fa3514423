public import CacheSystem

/// The events that a change survives once the call that made it has returned.
public enum Durability: Sendable, Hashable {
  /// The process may be killed at any instruction. A loss of power may undo the change.
  case process
  /// The change survives a loss of power, too: files and journal are synced before the call
  /// returns.
  case full
}

/// Options for opening a store.
public struct Options: Sendable {
  /// The limits to set; `nil` keeps the limits that are recorded in the store. A new store has
  /// none.
  public var limits: Limits?
  /// The events that a change survives once the call that made it has returned.
  public var durability: Durability
  /// The most bytes of bodies and metadata that are kept in memory; 0 for none.
  public var memoryBytes: Int
  /// Whether nothing is written: no access times, no repairs, no locks.
  public var isReadOnly: Bool
  /// Whether a store is made if there is none.
  public var createsStore: Bool
  /// Whether entries are evicted if the disk is full, to make room for a new one. Otherwise the
  /// write fails, and all entries stay.
  public var evictsOnFullDisk: Bool
  /// The object that computes the size which is compared with the byte limit. The reference is
  /// weak.
  public weak var sizeDelegate: (any StoreSizeDelegate)?
  /// Whether the upkeep does nothing by itself: nothing is reconciled, evicted, compacted, set
  /// aside or swept, and no journal is begun before the first record. A checker sets this, because
  /// it does all that itself and reports it.
  package var isSupervised = false
  /// The clock; replaced in tests.
  public var clock: any WallClock
  /// The file system; replaced in tests.
  public var fileSystem: any FileSystem
  /// The name of this run of the machine. Tests that simulate a power cut set another one.
  package var bootName = BootName.current
  /// The sizes of the journal; smaller in tests.
  package var journal = JournalSizes()

  /// Creates options.
  public init(
    limits: Limits? = nil, durability: Durability = .process, memoryBytes: Int = 0,
    isReadOnly: Bool = false, createsStore: Bool = true,
    evictsOnFullDisk: Bool = true,
    sizeDelegate: (any StoreSizeDelegate)? = nil, clock: any WallClock = SystemClock(),
    fileSystem: any FileSystem = RealFileSystem()
  ) {
    self.limits = limits
    self.durability = durability
    self.memoryBytes = memoryBytes
    self.isReadOnly = isReadOnly
    self.createsStore = createsStore
    self.evictsOnFullDisk = evictsOnFullDisk
    self.sizeDelegate = sizeDelegate
    self.clock = clock
    self.fileSystem = fileSystem
  }
}

/// The sizes of the parts of the journal.
package struct JournalSizes: Sendable, Hashable {
  /// The length beyond which a new segment is begun.
  package var segmentBytes: Int64
  /// The number of bytes below which the journal is not compacted.
  package var smallBytes: Int64
  /// The bytes of records that compaction appends in one go.
  package var copyBytes: Int

  /// Creates sizes.
  package init(
    segmentBytes: Int64 = 64 << 20, smallBytes: Int64 = 1 << 20, copyBytes: Int = 256 << 10
  ) {
    self.segmentBytes = segmentBytes
    self.smallBytes = smallBytes
    self.copyBytes = copyBytes
  }
}
