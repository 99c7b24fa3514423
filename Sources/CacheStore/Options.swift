public import CacheSystem

/// The events that a change survives once the call that made it has returned.
public enum Durability: Sendable, Hashable {
  /// The process may be killed at any instruction. A loss of power may undo the change.
  case process
  /// The change survives a loss of power, too: files and journal are synced before the call
  /// returns.
  case full
}

/// The time at which the files of a small entry are written.
public enum Settling: Sendable, Hashable {
  /// A body of up to 16 KiB is first stored in the journal, with one write. The background thread
  /// writes its files within so many seconds. If the journal is lost until then, the entry is lost.
  /// With 0 seconds or less, opening the store throws `invalidLimits`.
  case within(seconds: Int)
  /// The files are written before the call returns.
  case atOnce
}

extension Settling {
  /// The delay in nanoseconds; 0 for none.
  var nanoseconds: Int64 {
    switch self {
    case .within(let seconds): Int64(clamping: max(0, min(seconds, 86_400))) * 1_000_000_000
    case .atOnce: 0
    }
  }
}

/// Options for opening a store.
public struct Options: Sendable {
  /// The limits to set; `nil` keeps the limits that are recorded in the store. A new store has
  /// none.
  public var limits: Limits?
  /// The events that a change survives once the call that made it has returned.
  public var durability: Durability
  /// The time at which the files of a small entry are written; by default within 5 seconds.
  public var settling: Settling
  /// The most bytes of bodies and metadata that are kept in memory; 0 for none.
  public var memoryBytes: Int
  /// The time for which a look-up may miss what other processes have changed; by default zero. Each
  /// look-up then makes one system call less, unless the last one was that long ago. Changes of this
  /// process are always seen at once.
  public var lag: Duration
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
  package var fileSystem: any FileSystem = RealFileSystem()
  /// The name of this run of the machine. Tests that simulate a power cut set another one.
  package var bootName = BootName.current
  /// The sizes of the journal; smaller in tests.
  package var journal = JournalSizes()

  /// Creates options.
  public init(
    limits: Limits? = nil, durability: Durability = .process,
    settling: Settling = .within(seconds: 5), memoryBytes: Int = 0, lag: Duration = .zero,
    isReadOnly: Bool = false, createsStore: Bool = true, evictsOnFullDisk: Bool = true,
    sizeDelegate: (any StoreSizeDelegate)? = nil, clock: any WallClock = SystemClock()
  ) {
    self.limits = limits
    self.durability = durability
    self.settling = settling
    self.memoryBytes = memoryBytes
    self.lag = lag
    self.isReadOnly = isReadOnly
    self.createsStore = createsStore
    self.evictsOnFullDisk = evictsOnFullDisk
    self.sizeDelegate = sizeDelegate
    self.clock = clock
  }

  /// Creates options with the files of a test.
  package init(
    limits: Limits? = nil, durability: Durability = .process,
    settling: Settling = .within(seconds: 5), memoryBytes: Int = 0, lag: Duration = .zero,
    isReadOnly: Bool = false, createsStore: Bool = true, evictsOnFullDisk: Bool = true,
    clock: any WallClock = SystemClock(), fileSystem: any FileSystem
  ) {
    self.init(
      limits: limits, durability: durability, settling: settling, memoryBytes: memoryBytes,
      lag: lag, isReadOnly: isReadOnly, createsStore: createsStore,
      evictsOnFullDisk: evictsOnFullDisk, clock: clock)
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
  /// The most bytes of bodies in the journal.
  package var logBytes: Int64
  /// The longest body in bytes that is stored in the journal.
  package var longestBody: Int
  /// The longest body in bytes that has no file of its own: the metadata file has it, and its record
  /// in the journal keeps it; -1 for none.
  package var longestEmbedded: Int

  /// Creates sizes.
  package init(
    segmentBytes: Int64 = 64 << 20, smallBytes: Int64 = 1 << 20, copyBytes: Int = 256 << 10,
    logBytes: Int64 = 256 << 20, longestBody: Int = 16 << 10,
    longestEmbedded: Int = 1 << 10
  ) {
    self.longestEmbedded = longestEmbedded
    self.logBytes = logBytes
    self.longestBody = longestBody
    self.segmentBytes = segmentBytes
    self.smallBytes = smallBytes
    self.copyBytes = copyBytes
  }
}
