package import CacheSystem

/// Puts another beginning in place of that of a URL.
public struct URLMapping: Sendable, Hashable {
  /// The beginning of the URLs that are meant, as the source writes them or in their normal form.
  public var old: String
  /// What takes its place.
  public var new: String

  /// Makes a mapping.
  public init(from old: String, to new: String) {
    self.old = old
    self.new = new
  }
}

/// Says what is moved, and how.
public struct MigrationOptions: Sendable {
  /// The format that the source has to have; nil: any.
  public var format: SourceFormat?
  /// The first one that fits a URL counts.
  public var mappings: [URLMapping] = []
  /// Whether entries stay behind that have expired.
  public var dropsExpired = false
  /// Whether entries are stored as if their requests had had no `Authorization`: all are one user's.
  /// Otherwise they are found by requests with the same value alone.
  public var ignoresAuthorization = false
  /// Whether nothing is written: what would be done is counted.
  public var isDryRun = false
  /// A folder for the private copy of the database.
  public var temporaryFolder: String
  /// A database longer than this is read in place where that is safe.
  public var copyLimit = SourceCache.usualCopyLimit
  /// The files of the destination; replaced in tests.
  package var fileSystem: any FileSystem = RealFileSystem()

  /// Makes options.
  public init(temporaryFolder: String) { self.temporaryFolder = temporaryFolder }
}
