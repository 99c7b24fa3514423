public import CacheSystem

/// What survives once a call that changes the store has returned.
public enum Durability: Sendable, Hashable {
  /// The death of the process at any instruction; not loss of power.
  case process
  /// Loss of power, too: files and journal are synced before the call returns.
  case full
}

/// How a store is opened.
public struct Options: Sendable {
  /// The limits to set; nil keeps those that are recorded in the store (at first: none).
  public var limits: Limits?
  /// What survives once a call that changes the store has returned.
  public var durability: Durability
  /// The bytes of bodies and metadata kept in memory in front of the disk; 0 for none.
  public var memoryBytes: Int
  /// Nothing is written: no touches, no repair, no lock.
  public var isReadOnly: Bool
  /// Whether a store is made where there is none.
  public var createsStore: Bool
  /// Whether a disk that is full evicts entries, so that a new one finds room; otherwise the write
  /// fails, and what is stored stays.
  public var evictsOnFullDisk: Bool
  /// Counts the size that the byte limit is held against; held weakly.
  public weak var sizeDelegate: (any StoreSizeDelegate)?
  /// The upkeep does nothing by itself: nothing is reconciled, evicted, compacted, set aside or swept,
  /// and no journal is begun before the first record. For a checker, which does all that and tells.
  package var isSupervised = false
  /// Tells the time; replaced in tests.
  public var clock: any WallClock
  /// The files; replaced in tests.
  public var fileSystem: any FileSystem
  /// The name of this run of the machine; another one in tests that cut the power.
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

/// How long the parts of the journal get.
package struct JournalSizes: Sendable, Hashable {
  /// The length beyond which a new segment is begun.
  package var segmentBytes: Int64
  /// The journal is left alone below this many bytes.
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
