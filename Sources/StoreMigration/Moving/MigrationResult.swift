/// Says what became of one row of a source.
public struct RowResult: Sendable {
  /// What became of it.
  public enum Outcome: Sendable, Hashable {
    /// It is in the destination, in place of an older entry of the same URL or not.
    case converted(replaced: Bool)
    /// It is not, for this reason, and a few words on the case, perhaps none.
    case skipped(RowReason, detail: String)
  }

  /// The number of the row in its table.
  public let row: Int64
  /// The key as it stands in the source, cut after 2,048 bytes, without the credentials of a URL.
  public let key: String
  /// The URL that it has in the destination, without credentials, where that was mapped to another one.
  public let mappedURL: String?
  /// The bytes of the body; 0 where the row gives no entry.
  public let bytes: UInt64
  /// Whether the request that the row answers had an `Authorization`.
  public let hasAuthorization: Bool
  /// What became of it.
  public let outcome: Outcome
}

/// Counts what became of the rows of a source, or would become of them.
public struct MigrationCounts: Sendable, Hashable {
  /// The rows that were read.
  public var rows = 0
  /// The rows that were converted, or would be.
  public var converted = 0
  /// How many of those took the place of an older entry.
  public var replaced = 0
  /// How many of those were answers to requests with an `Authorization`.
  public var authorized = 0
  /// How many entries of the destination were evicted meanwhile, by its limits; some may have been
  /// converted before.
  public var evicted = 0
  /// The bytes of the bodies that were converted.
  public var bytes: UInt64 = 0
  /// The bytes that they take on disk with all that belongs to them, at most.
  public var neededBytes: UInt64 = 0
  /// The inodes that they take at most, in a destination that is empty: a body, a metadata file and a
  /// folder each, the folders above these, and the files of the store.
  public var neededFiles: UInt64 {
    converted == 0 ? 0 : UInt64(clamping: 3 * converted + min(converted, 256) + 16)
  }
  /// The others by reason.
  public var skipped: [RowReason: Int] = [:]

  /// Makes counts of nothing.
  package init() {}

  /// How many rows could not be converted although they should.
  public var faults: Int {
    skipped.reduce(0) { $0 + ($1.key.isFault ? $1.value : 0) }
  }

  /// Counts all of another run, too.
  package mutating func add(_ other: MigrationCounts) {
    rows += other.rows
    converted += other.converted
    replaced += other.replaced
    authorized += other.authorized
    evicted += other.evicted
    bytes += other.bytes
    neededBytes += other.neededBytes
    for (reason, count) in other.skipped { skipped[reason, default: 0] += count }
  }

  /// Counts one more row.
  ///
  /// - Parameter blockBytes: what disk space is given out in.
  mutating func add(_ result: RowResult, blockBytes: UInt64) {
    rows += 1
    switch result.outcome {
    case .skipped(let reason, _): skipped[reason, default: 0] += 1
    case .converted(let isReplaced):
      converted += 1
      if isReplaced { replaced += 1 }
      if result.hasAuthorization { authorized += 1 }
      bytes += result.bytes
      // A body and a metadata file in whole blocks, a directory, a record, and a place in the index.
      neededBytes +=
        (result.bytes + blockBytes - 1) / blockBytes * blockBytes + 2 * blockBytes + 1_184
    }
  }
}
