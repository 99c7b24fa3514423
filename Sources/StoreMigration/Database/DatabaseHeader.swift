/// Parses the first bytes of a database file (sqlite.org/fileformat2.html, section 1.3).
struct DatabaseHeader {
  static let sampleBytes = 4096

  private static let magic = Array("SQLite format 3\0".utf8)

  /// Whether the file is in rollback mode, which needs no -wal and no -shm.
  let isRollbackMode: Bool
  let pageBytes: UInt64
  /// The file change counter, which grows with each transaction in rollback mode.
  let changes: UInt64
  /// Whether the file has fewer pages than the header states or, if it states none, ends within a
  /// page.
  let isCutOff: Bool

  /// Parses the first bytes of a file.
  ///
  /// - Throws: `.empty`, `.encrypted`, `.notADatabase`.
  init(_ bytes: [UInt8], path: String, length: UInt64) throws(SourceError) {
    guard length > 0 else { throw SourceError(.empty, path) }
    guard Self.begins(bytes), bytes.count >= 100 else {
      throw SourceError(Self.looksEncrypted(bytes) ? .encrypted : .notADatabase, path)
    }
    isRollbackMode = bytes[18] == 1 && bytes[19] == 1
    let field = { (start: Int) in
      bytes[start..<start + 4].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    let size = field(16) >> 16
    pageBytes = size == 1 ? 65_536 : size
    changes = field(24)
    // The number of pages is valid only if the two change counters are equal.
    let pages = field(24) == field(92) ? field(28) : 0
    isCutOff = pages > 0 ? pages * pageBytes > length : pageBytes > 0 && length % pageBytes != 0
  }

  /// Returns whether the bytes are the beginning of an SQLite database.
  static func begins(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// Returns whether the bytes look random. 4,096 random bytes have nearly all values; text and
  /// pictures do not.
  private static func looksEncrypted(_ bytes: [UInt8]) -> Bool {
    bytes.count == sampleBytes && Set(bytes).count >= 250
  }
}
