import CSQLite

@safe
final class SQLiteDatabase {
  // Safety: opened in init, closed once in close, used by one thread at a time.
  private var handle: OpaquePointer?
  private let path: String

  init(path: String) throws {
    self.path = path
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    // Safety: SQLite fills in the handle; the path lives for the call.
    guard unsafe sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK else {
      throw failure("open")
    }
    unsafe sqlite3_busy_timeout(handle, 120_000)
  }

  func execute(_ sql: String) throws {
    // Safety: the text lives for the call; no callback, no error buffer.
    guard unsafe sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  func prepare(_ sql: String) throws -> SQLiteStatement {
    var statement: OpaquePointer?
    // Safety: SQLite fills in the statement; the text lives for the call.
    let code = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw failure(sql) }
    return unsafe SQLiteStatement(handle: statement, database: self)
  }

  /// Closes the connection; every statement must have been finalized.
  func close() {
    // Safety: closed once; a nil handle is a harmless no-op in SQLite.
    unsafe sqlite3_close(handle)
    unsafe handle = nil
  }

  func failure(_ doing: String) -> BenchmarkError {
    // Safety: the message is NUL-terminated and copied at once.
    let text = unsafe String(cString: sqlite3_errmsg(handle))
    return BenchmarkError("sqlite: \(path): \(doing): \(text)")
  }
}

@safe
final class SQLiteStatement {
  // Safety: made by prepare, finalized once, used by one thread at a time.
  private let handle: OpaquePointer
  private unowned let database: SQLiteDatabase

  fileprivate init(handle: OpaquePointer, database: SQLiteDatabase) {
    unsafe self.handle = handle
    self.database = database
  }

  /// Binds text or bytes without copying them: they must stay until `reset`.
  func bind(_ position: Int32, _ bytes: UnsafeRawBufferPointer, isText: Bool = false) {
    let count = Int32(bytes.count)
    // Safety: a nil destructor means static; the caller keeps the bytes until reset.
    if isText {
      let text = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      unsafe sqlite3_bind_text(handle, position, text, count, nil)
    } else {
      unsafe sqlite3_bind_blob(handle, position, bytes.baseAddress, count, nil)
    }
  }

  func bind(_ position: Int32, _ number: Int64) {
    unsafe sqlite3_bind_int64(handle, position, number)
  }

  func step() throws -> Bool {
    // Safety: the handle is valid until finalize.
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.failure("step")
    }
  }

  func integer(_ column: Int32) -> Int64 {
    unsafe sqlite3_column_int64(handle, column)
  }

  /// Returns a copy of the bytes of the current row.
  func bytes(_ column: Int32) -> [UInt8] {
    // Safety: pointer and length are valid until the next step; they are copied at once.
    let start = unsafe sqlite3_column_blob(handle, column)
    let count = unsafe Int(sqlite3_column_bytes(handle, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  func reset() {
    unsafe sqlite3_reset(handle)
  }

  func finalize() {
    unsafe sqlite3_finalize(handle)
  }
}
