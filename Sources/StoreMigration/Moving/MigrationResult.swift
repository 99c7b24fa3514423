internal import CacheStore

/// The result of one row of a source.
public struct RowResult: Sendable {
  /// The result of a row.
  public enum Outcome: Sendable, Hashable {
    /// The entry is in the destination; `replaced` is true if it replaced an older entry of the
    /// same URL.
    case converted(replaced: Bool)
    /// The row was skipped for this reason, with details, which may be empty.
    case skipped(RowReason, detail: String)
  }

  /// The number of the row in its table.
  public let row: Int64
  /// The key from the source, cut after 2,048 bytes, without the credentials of a URL.
  public let key: String
  /// The URL in the destination, without credentials, if it was mapped to another one.
  public let mappedURL: String?
  /// The bytes of the body; 0 if the row gives no entry.
  public let bytes: UInt64
  /// Whether the request of the entry had an `Authorization`.
  public let hasAuthorization: Bool
  /// The result.
  public let outcome: Outcome
  /// The size of the metadata of a converted entry.
  var metadata: MetadataSize? = nil
}

/// The counts of the rows of a source, by result. In a dry run, those that would result.
public struct MigrationCounts: Sendable, Hashable {
  /// The rows that were read.
  public var rows = 0
  /// The rows that were converted, or would be.
  public var converted = 0
  /// The converted rows that replaced an older entry.
  public var replaced = 0
  /// The converted rows whose requests had an `Authorization`.
  public var authorized = 0
  /// The entries of the destination that its limits evicted meanwhile; they may include converted
  /// ones.
  public var evicted = 0
  /// The bytes of the bodies that were converted.
  public var bytes: UInt64 = 0
  /// The limit of the bytes that the converted entries take on disk, with all their files and those
  /// of the store.
  public var neededBytes: UInt64 = 0
  /// The limit of the inodes that they take in an empty destination: a body, a metadata file and a
  /// folder each, the folders above these, and the files of the store.
  public var neededFiles: UInt64 {
    converted == 0 ? 0 : UInt64(clamping: 3 * converted + min(converted, 256) + 16)
  }
  /// The skipped rows, by reason.
  public var skipped: [RowReason: Int] = [:]

  package init() {}

  /// The rows that should have been converted, but could not be.
  public var faults: Int {
    skipped.reduce(0) { $0 + ($1.key.isFault ? $1.value : 0) }
  }

  /// Adds the counts of another run.
  package mutating func add(_ other: MigrationCounts) {
    rows += other.rows
    converted += other.converted
    replaced += other.replaced
    authorized += other.authorized
    evicted += other.evicted
    bytes = Self.sum(bytes, other.bytes)
    neededBytes = Self.sum(neededBytes, other.neededBytes)
    for (reason, count) in other.skipped { skipped[reason, default: 0] += count }
  }

  /// Adds one row.
  ///
  /// - Parameter blockBytes: The block size of the file system, in bytes.
  mutating func add(_ result: RowResult, blockBytes: UInt64) {
    rows += 1
    switch result.outcome {
    case .skipped(let reason, _): skipped[reason, default: 0] += 1
    case .converted(let isReplaced):
      converted += 1
      if isReplaced { replaced += 1 }
      if result.hasAuthorization { authorized += 1 }
      bytes = Self.sum(bytes, result.bytes)
      neededBytes = Self.sum(neededBytes, needed(for: result, blockBytes))
    }
  }

  /// Returns the most bytes that a converted row takes on disk: whole blocks for the body, the
  /// metadata file and its folder, for the first rows also for the folder above it; and a record,
  /// with the room for dead ones, and a place in the index; for the first row also the files of the
  /// store.
  private func needed(for result: RowResult, _ blockBytes: UInt64) -> UInt64 {
    func blocks(_ bytes: UInt64) -> UInt64 { (bytes + blockBytes - 1) / blockBytes * blockBytes }
    let (file, record) = (result.metadata?.file ?? 1, max(result.metadata?.record ?? 0, 1_056))
    let others: UInt64 = converted == 1 ? 18 : converted <= 256 ? 2 : 1
    return blocks(result.bytes) + blocks(file) + others * blockBytes + record + record / 4 + 128
  }

  /// Adds bytes. In a dry run, any number of rows may name one file, which may be sparse.
  private static func sum(_ bytes: UInt64, _ others: UInt64) -> UInt64 {
    let (sum, isOver) = bytes.addingReportingOverflow(others)
    return isOver ? .max : sum
  }
}
