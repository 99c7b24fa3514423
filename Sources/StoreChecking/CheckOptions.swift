public import CacheSystem

@_exported public import struct CacheSystem.SystemClock
@_exported public import protocol CacheSystem.WallClock

/// The depth of a check.
public enum CheckDepth: String, Sendable, Hashable, CaseIterable {
  /// Structure, journal compared with tree, metadata, lengths and links. No body is read.
  case quick
  /// All of that, and the digest of every body.
  case deep
}

/// The damage that is repaired.
public enum RepairLevel: String, Sendable, Hashable, CaseIterable {
  /// Everything that can be repaired without a loss: journal, links, leftovers, counts, modes.
  case safe
  /// Also damaged entries and foreign files, which are moved to the quarantine with a note.
  case all
}

/// Options for checking a store.
public struct CheckOptions: Sendable {
  /// The depth of a check.
  public var depth: CheckDepth
  /// The level of the repair; `nil` if nothing is written.
  public var repair: RepairLevel?
  /// The repair whose effect a check without repair finds out: how many entries one of all damage would
  /// take out of the store (``Finding/lostEntries``), or which bodies a safe one would restore. The check
  /// reads bodies that could restore them.
  public var forecast: RepairLevel?
  /// The number of threads that read, at least 1.
  public var jobs: Int
  /// The shards (0 to 255) that an earlier run has checked; see `CheckProgress.shards`. A repair
  /// checks all.
  public var skippedShards: Set<UInt8>
  /// The clock; replaced in tests.
  public var clock: any WallClock
  /// The file system; replaced in tests.
  package var fileSystem: any FileSystem = RealFileSystem()

  /// Creates options.
  public init(
    depth: CheckDepth = .quick, repair: RepairLevel? = nil, jobs: Int = 2,
    skippedShards: Set<UInt8> = [], clock: any WallClock = SystemClock()
  ) {
    self.depth = depth
    self.repair = repair
    self.jobs = jobs
    self.skippedShards = skippedShards
    self.clock = clock
  }
}
