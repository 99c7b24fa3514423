internal import CacheFormat

/// The rows of each key, and how new they are, in a scratch database: memory stays bounded for any
/// number of rows. Only the hash of a key is stored, so callers must compare the keys.
final class NewestRows {
  private let insertion: Statement
  private let nth: Statement
  private let removal: Statement

  init(
    in folder: TemporaryFolder, stop: MigrationStop = MigrationStop()
  ) throws(DatabaseError) {
    let database = try Database(path: folder.path + "/scratch", .create, stop: stop)
    try database.execute(
      """
      PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
      PRAGMA cache_size=-8192;
      CREATE TABLE newest(hash INTEGER, recency REAL, row INTEGER,
        PRIMARY KEY(hash, recency, row)) WITHOUT ROWID;
      BEGIN
      """)
    insertion = try database.prepare("INSERT OR IGNORE INTO newest VALUES(?1, ?2, ?3)")
    nth = try database.prepare(
      """
      SELECT row, recency FROM newest WHERE hash = ?1 ORDER BY recency DESC, row DESC LIMIT 1 OFFSET ?2
      """)
    // By the whole key, because a key may have very many rows.
    removal = try database.prepare(
      "DELETE FROM newest WHERE hash = ?1 AND recency = ?2 AND row = ?3")
  }

  /// Adds a row. Without a recency it is older than all rows that have one.
  func add(_ row: Int64, key: ByteString, recency: Double?) throws(DatabaseError) {
    _ = try insertion.first([
      .integer(Int64(key.hashValue)), .real(recency ?? -.infinity), .integer(row),
    ])
  }

  struct Row: Equatable {
    let number: Int64
    let recency: Double
  }

  /// Returns the row of a key, or of another key with the same hash, that has `index` newer ones.
  func row(_ index: Int, key: ByteString) throws(DatabaseError) -> Row? {
    guard let values = try nth.first([.integer(Int64(key.hashValue)), .integer(Int64(index))]),
      let number = values[0].integer, let recency = values[1].number
    else { return nil }
    return Row(number: number, recency: recency)
  }

  func remove(_ row: Row, key: ByteString) throws(DatabaseError) {
    _ = try removal.first([
      .integer(Int64(key.hashValue)), .real(row.recency), .integer(row.number),
    ])
  }
}
