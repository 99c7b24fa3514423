internal import CacheFormat

/// Determines, before any row is moved, which rows have room in a destination with limits: the most
/// recently used ones, up to the first that does not fit.
///
/// The entries of the destination stay. So the result does not depend on the order of the rows, no
/// row is moved and evicted again, and a second run decides the same. The rows are in a scratch
/// database: memory stays bounded for any number of them.
final class RoomPlan {
  struct Candidate {
    let row: Int64
    let key: ByteString
    let variant: UInt64
    /// The time at which its response was received: of two rows with one key the later one is used.
    let received: Timestamp
    let accessed: Timestamp
    /// The bytes that it takes, less those of the entry that it replaces.
    let bytes: Int64
    var replaces: Bool
  }

  private let insertion: Statement
  private let ordered: Statement
  private let kept: Statement
  /// The first row that has no room, and its time of access; `nil` if all rows have room.
  private var end: (accessed: Int64, row: Int64)?

  init(in folder: TemporaryFolder) throws(DatabaseError) {
    let database = try Database(path: folder.path + "/room", .create)
    try database.execute(
      """
      PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
      PRAGMA cache_size=-8192; PRAGMA temp_store=FILE;
      DROP TABLE IF EXISTS room;
      CREATE TABLE room(hash INTEGER PRIMARY KEY, received INTEGER, accessed INTEGER, row INTEGER,
        bytes INTEGER, replaces INTEGER);
      BEGIN
      """)
    insertion = try database.prepare(
      """
      INSERT INTO room VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(hash) DO UPDATE SET \
      received = ?2, accessed = ?3, row = ?4, bytes = ?5, replaces = ?6 WHERE ?2 > received
      """)
    ordered = try database.prepare(
      "SELECT accessed, row, bytes, replaces FROM room ORDER BY accessed DESC, row DESC")
    kept = try database.prepare("SELECT row FROM room WHERE hash = ?1")
  }

  func add(_ candidate: Candidate) throws(DatabaseError) {
    insertion.restart([
      Self.hash(candidate.key, candidate.variant), .integer(candidate.received.nanoseconds),
      .integer(candidate.accessed.nanoseconds), .integer(candidate.row),
      .integer(candidate.bytes), .integer(candidate.replaces ? 1 : 0),
    ])
    _ = try insertion.step()
  }

  /// Finds the first row that has no room.
  ///
  /// - Parameters:
  ///   - bytes: The room that is left; negative if the destination is over its limit.
  ///   - entries: The number of further entries, or `nil` for no limit.
  func decide(bytes: Int64, entries: Int64?) throws(DatabaseError) {
    var (bytes, entries) = (bytes, entries ?? .max)
    ordered.restart()
    defer { ordered.restart() }
    while try ordered.step() {
      let values = try ordered.values()
      guard let accessed = values[0].integer, let row = values[1].integer,
        let taken = values[2].integer, let replaces = values[3].integer
      else { return }
      // An entry that replaces a longer one adds to the room, which may be unlimited.
      let (left, isOver) = bytes.subtractingReportingOverflow(taken)
      bytes = isOver ? .max : left
      if replaces == 0 { entries -= 1 }
      guard bytes >= 0 || taken <= 0, entries >= 0 || replaces == 1 else {
        end = (accessed, row)
        return
      }
    }
  }

  private static func hash(_ key: ByteString, _ variant: UInt64) -> DatabaseValue {
    var hasher = Hasher()
    hasher.combine(key)
    hasher.combine(variant)
    return .integer(Int64(hasher.finalize()))
  }

  /// Returns whether a later response with the same key is moved in place of a row.
  func supersedes(_ row: Int64, _ key: ByteString, _ variant: UInt64) throws(DatabaseError) -> Bool
  {
    guard let other = try kept.first([Self.hash(key, variant)])?[0].integer else { return false }
    return other >= 0 && other != row
  }

  func admits(_ row: Int64, accessed: Timestamp) -> Bool {
    guard let end else { return true }
    return (accessed.nanoseconds, row) > (end.accessed, end.row)
  }
}
