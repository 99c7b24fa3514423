public import CacheSystem

/// How much is read.
public enum CheckDepth: String, Sendable, Hashable, CaseIterable {
  /// Structure, journal against tree, metadata, lengths, links: no body is read.
  case quick
  /// All of that, and every body is hashed.
  case deep
}

/// What is repaired.
public enum RepairLevel: String, Sendable, Hashable, CaseIterable {
  /// What loses nothing: journal, links, leftovers, counts, modes.
  case safe
  /// Also damaged entries and foreign files: they are moved to the quarantine with a note.
  case all
}

/// How a store is checked.
public struct CheckOptions: Sendable {
  /// How much is read.
  public var depth: CheckDepth
  /// nil: nothing is written at all.
  public var repair: RepairLevel?
  /// The threads that read, at least 1.
  public var jobs: Int
  /// The shards (0 to 255) that an earlier run has done; see `CheckProgress.shards`.
  public var skippedShards: Set<UInt8>
  /// Tells the time; replaced in tests.
  public var clock: any WallClock
  /// The files; replaced in tests.
  public var fileSystem: any FileSystem

  /// Creates options.
  public init(
    depth: CheckDepth = .quick, repair: RepairLevel? = nil, jobs: Int = 2,
    skippedShards: Set<UInt8> = [], clock: any WallClock = SystemClock(),
    fileSystem: any FileSystem = RealFileSystem()
  ) {
    self.depth = depth
    self.repair = repair
    self.jobs = jobs
    self.skippedShards = skippedShards
    self.clock = clock
    self.fileSystem = fileSystem
  }
}
