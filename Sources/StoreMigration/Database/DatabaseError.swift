internal import CSQLite

struct DatabaseError: Error {
  /// The primary result code, such as SQLITE_CORRUPT.
  let code: Int32
  let message: String

  /// Returns the error for a finding of SQLite's check of all pages.
  static func damage(_ finding: String) -> DatabaseError {
    DatabaseError(code: SQLITE_CORRUPT, message: RowError.excerpt(finding))
  }

  /// Whether a value is longer than the limit of the connection.
  var isTooLarge: Bool { code == SQLITE_TOOBIG }

  var cause: SourceError.Cause {
    switch code {
    case SQLITE_NOTADB: .notADatabase
    case SQLITE_CORRUPT: .corrupt
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
    case SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN: .permission
    // A journal that another program has left beside a database that is read in place.
    case SQLITE_READONLY: .unfinished
    case SQLITE_FULL: .copy
    case SQLITE_INTERRUPT: .cancelled
    // A table or a column that a statement names is missing.
    case SQLITE_ERROR, SQLITE_SCHEMA: .missingColumns
    default: .unreadable
    }
  }
}
