package import CacheSystem

/// A replacement for the beginning of a URL.
public struct URLMapping: Sendable, Hashable {
  /// The beginning of the URLs to map, as the source writes them or in their normal form.
  public var old: String
  /// The beginning of the mapped URLs.
  public var new: String

  /// Creates a mapping.
  public init(from old: String, to new: String) {
    self.old = old
    self.new = new
  }
}

/// The options of a migration.
public struct MigrationOptions: Sendable {
  /// The format that the source must have, or `nil` for any.
  public var format: SourceFormat?
  /// The mappings. The first one that matches a URL is used.
  public var mappings: [URLMapping] = []
  /// Whether expired entries are left behind.
  public var dropsExpired = false
  /// Whether entries are stored as if their requests had no `Authorization`, because all belong to
  /// one user. Otherwise they are found only by requests with the same value.
  public var ignoresAuthorization = false
  /// Whether nothing is written, and only the counts are computed.
  public var isDryRun = false
  /// The folder for the private copy of the database.
  public var temporaryFolder: String
  /// The length in bytes from which a database is read in place if that is safe.
  public var copyLimit = SourceCache.usualCopyLimit
  /// The file system of the destination; replaced in tests.
  package var fileSystem: any FileSystem = RealFileSystem()

  /// Creates options.
  public init(temporaryFolder: String) { self.temporaryFolder = temporaryFolder }
}
