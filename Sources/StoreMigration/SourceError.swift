/// The reason why a source cannot be read, or not completely.
public struct SourceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The causes of errors.
  public enum Cause: String, Sendable, Hashable, CaseIterable {
    /// There is no such file or folder.
    case notFound
    /// It is neither a regular file nor a folder.
    case notAFile
    /// The file or its folder may not be read.
    case permission
    /// The file is empty; SQLite would open it as a database without tables.
    case empty
    /// The file is not an SQLite database.
    case notADatabase
    /// The file looks like an encrypted database: its bytes have no pattern.
    case encrypted
    /// The file is shorter than its header states.
    case truncated
    /// SQLite has found damage.
    case corrupt
    /// No table, or no file in the folder, belongs to a known cache.
    case unknownSchema
    /// It is a cache, but not of the requested format.
    case otherFormat
    /// No file in the folder is an SQLite database.
    case noDatabase
    /// The tables exist, but some of their columns are missing.
    case missingColumns
    /// There are several caches in the folder.
    case ambiguous
    /// The source was changed repeatedly while it was copied, or is locked.
    case busy
    /// A program ended while it wrote to the database, which was then read in place.
    case unfinished
    /// The journal belongs to a transaction over several databases.
    case superJournal
    /// The copy cannot be written.
    case copy
    /// The migration was asked to stop.
    case cancelled
    /// The source cannot be read for another reason.
    case unreadable
  }

  /// The cause.
  public let cause: Cause

  /// The path of the file or folder.
  public let path: String

  /// Details; may be empty.
  public let detail: String

  init(_ cause: Cause, _ path: String, _ detail: String = "") {
    self.cause = cause
    self.path = path
    self.detail = detail
  }

  /// The path, the problem and the advice.
  public var description: String {
    let (what, remedy) = words
    return "\(path): \(what)\(detail.isEmpty ? "" : " (\(detail))"); \(remedy)"
  }

  private var words: (String, String) {
    switch cause {
    case .notFound: ("there is no such file or folder", "check the path")
    case .notAFile:
      ("it is no regular file", "name the cache's database or its folder, with regular files only")
    case .permission: ("it may not be read", "run as its owner, or copy it to where you may read")
    case .empty:
      ("the file is empty", "the -wal file beside it may have been lost; copy both again")
    case .notADatabase: ("it is no SQLite database", "name the cache's database or its folder")
    case .encrypted:
      ("it looks encrypted", "decrypt it first, for SQLCipher with sqlcipher_export")
    case .truncated: ("the file is cut off", "copy it again from where it came from")
    case .corrupt: ("the database is damaged", "`sqlite3 DATABASE .recover` may get rows out of it")
    case .unknownSchema:
      ("there is no cache of a known format in it", "see --from in the help for the formats")
    case .otherFormat:
      ("it is a cache of another format", "leave --from out, or name that format")
    case .noDatabase:
      ("there is no SQLite database in the folder", "name the cache's database or its folder")
    case .missingColumns: ("columns are missing", "the format is not supported in this version")
    case .ambiguous: ("there are several caches in it", "name the database instead of the folder")
    case .busy: ("it is being written to", "end the program that uses it, and try again")
    case .unfinished:
      ("a program ended while it wrote to it", "open it once with the program that it belongs to")
    case .superJournal:
      ("its journal names another journal", "open it once with the program that it belongs to")
    case .copy:
      (
        "the private copy failed",
        "make room in the folder for temporary files, or set TMPDIR to another"
      )
    case .cancelled: ("it was not read to its end", "start the migration again")
    case .unreadable: ("it cannot be read", "check the file system")
    }
  }
}
