internal import CSQLite

/// A text or blob of a table that is read in pieces. Only one page of it is in memory.
@safe
final class DatabaseBlob {
  // Safety: made by `Database.openBlob`, closed in deinit; the database lives at least as long.
  private let handle: OpaquePointer
  private let database: Database

  private(set) var row: Int64

  init(_ handle: OpaquePointer, of database: Database, row: Int64) {
    unsafe self.handle = handle
    self.database = database
    self.row = row
  }

  deinit { unsafe sqlite3_blob_close(handle) }

  /// Moves to the same column of another row. After a failure this blob cannot be used any more.
  func move(to row: Int64) throws(DatabaseError) {
    let code = unsafe sqlite3_blob_reopen(handle, row)
    guard code == SQLITE_OK else { throw database.failure(code) }
    self.row = row
  }

  var count: Int { unsafe Int(sqlite3_blob_bytes(handle)) }

  /// Reads up to `count` bytes, fewer at the end.
  func read(at offset: Int, count: Int) throws(DatabaseError) -> [UInt8] {
    let count = max(0, min(count, self.count - offset))
    guard count > 0 else { return [] }
    var code = SQLITE_OK
    // Safety: exactly `count` bytes are written, or the code shows that none are valid.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      code = unsafe sqlite3_blob_read(handle, buffer.baseAddress, Int32(count), Int32(offset))
      done = code == SQLITE_OK ? count : 0
    }
    guard code == SQLITE_OK else { throw database.failure(code) }
    return bytes
  }
}
