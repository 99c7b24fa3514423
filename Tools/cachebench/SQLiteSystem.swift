import Synchronization

/// SQLite with the classic schema of a response cache.
///
/// With default settings (a rollback journal, a sync on every commit) statements are compiled for
/// every call, as the classic code does; tuned means write-ahead log, synchronous NORMAL and
/// statements that are kept.
final class SQLiteSystem: CacheUnderTest {
  /// The bytes of one row, in memory that does not move while SQLite reads it.
  @safe
  final class Value {
    // Safety: allocated in init, freed in deinit, never written in between.
    fileprivate let memory: UnsafeMutableRawBufferPointer
    private let ends: [Int]

    init(_ parts: [[UInt8]]) {
      let total = parts.reduce(0) { $0 + $1.count }
      unsafe memory = .allocate(byteCount: max(1, total), alignment: 16)
      var ends: [Int] = []
      var offset = 0
      for part in parts {
        // Safety: the sum of the parts was allocated.
        unsafe memory[offset..<(offset + part.count)].copyBytes(from: part)
        offset += part.count
        ends.append(offset)
      }
      self.ends = ends
    }

    deinit {
      unsafe memory.deallocate()
    }

    /// Returns one part; it is valid as long as this object.
    func part(_ number: Int) -> UnsafeRawBufferPointer {
      let start = number == 0 ? 0 : ends[number - 1]
      return unsafe UnsafeRawBufferPointer(rebasing: memory[start..<ends[number]])
    }
  }

  let name: SystemName
  private let path: String
  private let corpus: Corpus
  private let database: SQLiteDatabase
  private let isTuned: Bool
  private var kept: [SQLiteStatement?] = [nil, nil, nil, nil]
  private var isBulk = false
  private var turns: Turns?
  private var lastBody: [UInt8] = []
  private var lastResponse: [UInt8] = []

  private enum Query: Int {
    case select, touch, delete, insert

    var sql: String {
      switch self {
      case .select: "SELECT id, response, data FROM cache_entry WHERE search_key = ?"
      case .touch: "UPDATE cache_entry SET last_access_time = CURRENT_TIMESTAMP WHERE id = ?"
      case .delete: "DELETE FROM cache_entry WHERE search_key = ?"
      case .insert:
        """
        INSERT INTO cache_entry (expiration_date, search_key, request, response, data) \
        VALUES (?, ?, ?, ?, ?)
        """
      }
    }
  }

  private static let schema = """
    CREATE TABLE IF NOT EXISTS cache_entry (
      id INTEGER PRIMARY KEY,
      creation_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
      last_access_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
      expiration_date DATETIME NOT NULL,
      search_key TEXT NOT NULL,
      request BLOB,
      response BLOB,
      data BLOB,
      user_info BLOB
    );
    CREATE INDEX IF NOT EXISTS cache_entry_creation_time_idx ON cache_entry(creation_time);
    CREATE INDEX IF NOT EXISTS cache_entry_last_access_time_idx ON cache_entry(last_access_time);
    CREATE INDEX IF NOT EXISTS cache_entry_expiration_date_idx ON cache_entry(expiration_date);
    CREATE INDEX IF NOT EXISTS cache_entry_search_key_idx ON cache_entry(search_key);
    """

  init(path: String, isTuned: Bool, corpus: Corpus) throws {
    name = isTuned ? .sqliteTuned : .sqlite
    self.path = path
    self.isTuned = isTuned
    self.corpus = corpus
    database = try SQLiteDatabase(path: path + "/cache.db")
    if isTuned {
      try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    }
    try database.execute(Self.schema)
  }

  func makeValue(_ entry: EntryID) -> Value {
    let key = corpus.key(entry.index)
    let request = Array("GET /assets HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n".utf8) + key
    return Value([key, request, corpus.head(entry), corpus.body(entry)])
  }

  func makeKey(_ entry: EntryID) -> Value {
    Value([corpus.key(entry.index)])
  }

  func store(_ value: Value) throws {
    guard let turns else { return try storeNow(value) }
    try turns.lock.withLock { _ throws in try storeNow(value) }
  }

  private func storeNow(_ value: Value) throws {
    if !isBulk { try database.execute("BEGIN IMMEDIATE") }
    try run(.delete) { statement in
      unsafe statement.bind(1, value.part(0), isText: true)
    }
    try run(.insert) { statement in
      statement.bind(1, 1_826_000_000)
      unsafe statement.bind(2, value.part(0), isText: true)
      unsafe statement.bind(3, value.part(1))
      unsafe statement.bind(4, value.part(2))
      unsafe statement.bind(5, value.part(3))
    }
    if !isBulk { try database.execute("COMMIT") }
  }

  func hit(_ key: Value) throws -> Bool {
    var row: Int64?
    try run(.select) { statement in
      unsafe statement.bind(1, key.part(0), isText: true)
    } read: { statement in
      row = statement.integer(0)
      lastResponse = statement.bytes(1)
      lastBody = statement.bytes(2)
    }
    guard let row else { return false }
    try run(.touch) { statement in statement.bind(1, row) }
    return true
  }

  func miss(_ key: Value) throws -> Bool {
    var isAbsent = true
    try run(.select) { statement in
      unsafe statement.bind(1, key.part(0), isText: true)
    } read: { _ in
      isAbsent = false
    }
    return isAbsent
  }

  func lastBodyEquals(_ body: [UInt8]) -> Bool {
    lastBody == body && !lastResponse.isEmpty
  }

  func beginBulk() throws {
    try database.execute("BEGIN")
    isBulk = true
  }

  func endBulk() throws {
    isBulk = false
    try database.execute("COMMIT")
  }

  func sibling() throws -> any CacheUnderTest {
    let other = try SQLiteSystem(path: path, isTuned: isTuned, corpus: corpus)
    other.turns = turns
    return other
  }

  /// Makes this connection and its later siblings take turns at storing.
  ///
  /// Without it they wait for each other in SQLite's busy handler, which sleeps for milliseconds.
  func shareLock() {
    turns = Turns()
  }

  private final class Turns: Sendable {
    let lock = Mutex<Void>(())
  }

  func close() {
    for statement in kept { statement?.finalize() }
    kept = [nil, nil, nil, nil]
    database.close()
  }

  private func run(
    _ query: Query, bind: (SQLiteStatement) -> Void,
    read: (SQLiteStatement) -> Void = { _ in }
  ) throws {
    let statement = try self.statement(query)
    bind(statement)
    defer {
      if isTuned || isBulk { statement.reset() } else { statement.finalize() }
    }
    if try statement.step() { read(statement) }
  }

  private func statement(_ query: Query) throws -> SQLiteStatement {
    if isTuned || isBulk, let kept = kept[query.rawValue] { return kept }
    let statement = try database.prepare(query.sql)
    if isTuned || isBulk { kept[query.rawValue] = statement }
    return statement
  }
}
