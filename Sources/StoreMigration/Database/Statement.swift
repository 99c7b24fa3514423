internal import CSQLite

@safe
final class Statement {
  // Safety: made by `Database.prepare`, finalized in deinit; the database lives at least as long.
  private let handle: OpaquePointer
  private let database: Database

  init(_ handle: OpaquePointer, of database: Database) {
    unsafe self.handle = handle
    self.database = database
  }

  deinit { unsafe sqlite3_finalize(handle) }

  /// Resets the statement and binds other values; parameters are counted from 1.
  func restart(_ values: [DatabaseValue] = []) {
    // Safety: text and bytes are copied by SQLite (a destructor of -1) before the call returns.
    unsafe sqlite3_reset(handle)
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (index, value) in values.enumerated() {
      let place = Int32(index + 1)
      switch value {
      case .null: unsafe sqlite3_bind_null(handle, place)
      case .integer(let number): unsafe sqlite3_bind_int64(handle, place, number)
      case .real(let number): unsafe sqlite3_bind_double(handle, place, number)
      case .text(let bytes):
        unsafe bytes.withUnsafeBufferPointer { buffer in
          _ = unsafe buffer.withMemoryRebound(to: CChar.self) {
            unsafe sqlite3_bind_text(handle, place, $0.baseAddress, Int32($0.count), copied)
          }
        }
      case .blob(let bytes):
        unsafe bytes.withUnsafeBytes {
          _ = unsafe sqlite3_bind_blob(handle, place, $0.baseAddress, Int32($0.count), copied)
        }
      }
    }
  }

  func step() throws(DatabaseError) -> Bool {
    // Safety: the handle is valid until deinit.
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw database.failure(code)
    }
  }

  /// Returns a copy of a value of the current row.
  ///
  /// - Throws: `isTooLarge` for a value beyond the limit of the connection.
  func value(_ column: Int32) throws(DatabaseError) -> DatabaseValue {
    // Safety: pointer and length are valid until the next step, and copied at once. For an empty
    // blob the pointer is null.
    switch unsafe sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      // The call converts the value to UTF-8, so it comes before the length is read.
      guard let start = unsafe sqlite3_column_text(handle, column) else {
        throw database.failure(SQLITE_NOMEM)
      }
      let count = unsafe Int(sqlite3_column_bytes(handle, column))
      return .text(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)))
    case SQLITE_BLOB:
      let start = unsafe sqlite3_column_blob(handle, column)
      let count = unsafe Int(sqlite3_column_bytes(handle, column))
      return .blob(unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }

  func values() throws(DatabaseError) -> [DatabaseValue] {
    var values: [DatabaseValue] = []
    for column in unsafe 0..<sqlite3_column_count(handle) { values.append(try value(column)) }
    return values
  }

  /// Runs the statement with values and returns the first row, or `nil` if there is none.
  func first(_ values: [DatabaseValue] = []) throws(DatabaseError) -> [DatabaseValue]? {
    restart(values)
    // A statement that is on a row keeps its copy of the row's values.
    defer { restart() }
    return try step() ? self.values() : nil
  }
}
