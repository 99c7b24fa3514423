import ToolTesting

@testable import StoreMigration

// Databases that are made without another program, so that any value can be in them.
extension SourceSandbox {
  /// Makes a database, and inserts rows into one of its tables.
  func makeDatabase(
    _ name: String, _ sql: String, into table: String = "", _ rows: [[DatabaseValue]] = []
  ) throws -> String {
    let path = "\(path)/\(name)"
    let database = try Database(path: path, .create)
    try database.execute(sql)
    for values in rows { try database.insert(values, into: table) }
    return path
  }

  /// Makes a Cache.db with the answers that a Python script adds: `add(n, url, fields, body, requested)`,
  /// the last of which are the fields of the request, if that is kept.
  func makeCacheDB(_ name: String, _ script: String) throws -> String {
    let begin = """
      import plistlib, sqlite3, sys
      c = sqlite3.connect(sys.argv[1])
      c.executescript('''CREATE TABLE cfurl_cache_response(entry_ID INTEGER PRIMARY KEY,
        storage_policy INTEGER, request_key TEXT, time_stamp INTEGER);
        CREATE TABLE cfurl_cache_blob_data(entry_ID INTEGER PRIMARY KEY, response_object BLOB,
        request_object BLOB, proto_props BLOB, user_info BLOB, receiver_data BLOB)''')
      def blob(items):
          return plistlib.dumps({'Version': 1, 'Array': items}, fmt=plistlib.FMT_BINARY)
      def add(n, url, fields, body, requested=None):
          head = blob([url, 700000000.0 + n, 0, 200, fields, -1, 'text/plain'])
          request = None if requested is None else blob([url, 2, 'GET', requested, 0])
          c.execute('INSERT INTO cfurl_cache_response VALUES(?, 0, ?, ?)', (n, url, 1678307200 + n))
          c.execute('INSERT INTO cfurl_cache_blob_data VALUES(?, ?, ?, NULL, NULL, ?)',
            (n, head, request, body))

      """
    let path = "\(path)/\(name)"
    _ = try Python.run(["-c", begin + script + "\nc.commit()", path])
    return path
  }

  /// Opens a database as a source.
  func open(_ path: String) throws(SourceError) -> SourceDatabase {
    try SourceDatabase(path: path, temporary: copies, copyLimit: 1 << 30)
  }

  /// Reads the rows of a source.
  func rows(_ path: String) throws(SourceError) -> [SourceRow] {
    try SourceCache(path: path, temporaryFolder: copies).allRows()
  }
}

extension Database {
  func insert(_ values: [DatabaseValue], into table: String) throws(DatabaseError) {
    let marks = values.map { _ in "?" }.joined(separator: ", ")
    let insertion = try prepare("INSERT INTO \(table) VALUES(\(marks))")
    insertion.restart(values)
    _ = try insertion.step()
  }
}

extension DatabaseValue {
  static func text(_ text: String) -> DatabaseValue { .text(Array(text.utf8)) }
}

extension SourceRow {
  /// The entry, if there is one.
  var entry: SourceEntry? {
    if case .entry(let entry) = outcome { entry } else { nil }
  }
}
