internal import CSQLite

/// One connection to an SQLite database, for one thread at a time.
@safe
final class Database {
  /// The limit on the length of a value that a statement may use, in bytes. Bodies are read through
  /// `DatabaseBlob`, which has no such limit, because it does not hold them in memory.
  static let maximumValueBytes = PropertyListBudget.maximumBytes

  // Safety: opened in init and closed in deinit; statements and blobs hold this object.
  private let handle: OpaquePointer
  /// Ends a running statement with SQLITE_INTERRUPT.
  private let stop: MigrationStop
  /// The instructions of a statement after which it looks at `stop`; they take about a millisecond.
  private static let pieceInstructions: Int32 = 10_000

  init(
    path: String, _ access: Access, stop: MigrationStop = MigrationStop()
  ) throws(DatabaseError) {
    self.stop = stop
    var opened: OpaquePointer?
    // At the beginning of a name, `file:` and `:memory:` have a meaning for SQLite.
    let path = path.hasPrefix("/") ? path : "./" + path
    // Safety: SQLite sets the handle, even if it fails; the path is valid during the call.
    let code = unsafe sqlite3_open_v2(path, &opened, access.flags | SQLITE_OPEN_NOMUTEX, nil)
    guard let opened = unsafe opened else {
      throw DatabaseError(code: SQLITE_NOMEM, message: "out of memory")
    }
    unsafe handle = opened
    guard code == SQLITE_OK else { throw failure(code) }
    // Safety: the handle is open.
    unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(Self.maximumValueBytes))
    unsafe sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    unsafe sqlite3_busy_timeout(handle, 2_000)
    // Safety: this object keeps `stop` until the handle is closed.
    unsafe sqlite3_progress_handler(
      handle, Self.pieceInstructions,
      { stop in
        let stop = unsafe stop.map { unsafe Unmanaged<MigrationStop>.fromOpaque($0) }
        return unsafe stop?.takeUnretainedValue().isRequested == true ? 1 : 0
      }, Unmanaged.passUnretained(stop).toOpaque())
    let distrust = unsafe csqlite_distrust(handle)
    guard distrust == SQLITE_OK else { throw failure(distrust) }
    try execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA ignore_check_constraints=ON")
  }

  deinit {
    // Safety: closed once. If statements still existed, SQLite would close it after the last one.
    unsafe sqlite3_close_v2(handle)
  }

  enum Access {
    /// Nothing is written, and no file is created.
    case read
    /// The file exists, and recovery may write to it.
    case recover
    case create

    fileprivate var flags: Int32 {
      switch self {
      case .read: SQLITE_OPEN_READONLY
      case .recover: SQLITE_OPEN_READWRITE
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    }
  }

  /// Runs statements of this module that return nothing.
  func execute(_ sql: String) throws(DatabaseError) {
    // Safety: the text is valid during the call; there is no callback and no error buffer.
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  func prepare(_ sql: String) throws(DatabaseError) -> Statement {
    var compiled: OpaquePointer?
    // Safety: SQLite sets the statement; the text is valid during the call.
    let code = unsafe sqlite3_prepare_v3(
      handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
    guard code == SQLITE_OK, let compiled = unsafe compiled else { throw failure(code) }
    return unsafe Statement(compiled, of: self)
  }

  /// Opens a value for reading in pieces.
  func openBlob(_ table: String, _ column: String, row: Int64) throws(DatabaseError) -> DatabaseBlob
  {
    var opened: OpaquePointer?
    // Safety: SQLite sets the handle; the names are valid during the call.
    let code = unsafe sqlite3_blob_open(handle, "main", table, column, row, 0, &opened)
    guard code == SQLITE_OK, let opened = unsafe opened else { throw failure(code) }
    return unsafe DatabaseBlob(opened, of: self, row: row)
  }

  func failure(_ code: Int32) -> DatabaseError {
    // Safety: the message is NUL-terminated and copied at once.
    DatabaseError(code: code & 0xff, message: unsafe String(cString: sqlite3_errmsg(handle)))
  }
}
