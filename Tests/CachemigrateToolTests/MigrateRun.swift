import CacheFormat
import CacheStore
import Testing
import ToolTesting

extension ToolRun {
  /// The folder where the state of an interrupted migration is.
  var stateHome: String { path("state") }

  /// Runs `cachemigrate` and waits for its end.
  func migrate(_ arguments: [String]) throws -> ToolResult {
    try run(program: try migrateWords(arguments))
  }

  /// The command line that runs `cachemigrate` with folders of its own.
  func migrateWords(_ arguments: [String]) throws -> [[UInt8]] {
    let words = [
      "/usr/bin/env", "XDG_STATE_HOME=\(stateHome)", "TMPDIR=\(folder)",
      try ToolRun.executable("cachemigrate"),
    ]
    return (words + arguments).map { Array($0.utf8) }
  }

  /// Makes a YYCache with rows `first` to `last`, whose bodies have so many bytes.
  func makeSource(_ name: String, rows: ClosedRange<Int>, bytes: Int = 100) throws -> String {
    let script = """
      import sqlite3, sys
      path, first, last, count = sys.argv[1], *map(int, sys.argv[2:])
      c = sqlite3.connect(path)
      c.execute('''CREATE TABLE IF NOT EXISTS manifest(key text, filename text, size integer,
        inline_data blob, modification_time integer, last_access_time integer, extended_data blob,
        primary key(key))''')
      for n in range(first, last + 1):
          body = (b'%09d ' % n) * (count // 10 + 1)
          c.execute('INSERT INTO manifest VALUES(?, NULL, ?, ?, ?, ?, NULL)',
            ('https://example.org/%d.png' % n, count, body[:count], 1600000000 + n, 1700000000 + n))
      c.commit()
      """
    let words = ["/usr/bin/env", "python3", "-c", script, path(name)]
    let numbers = [rows.lowerBound, rows.upperBound, bytes].map { "\($0)" }
    let result = try run(program: (words + numbers).map { Array($0.utf8) })
    try #require(result.status == 0, "\(result.errors)")
    return path(name)
  }

  /// Runs SQL on a database.
  func sql(_ path: String, _ statements: String) throws {
    let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
    let words = ["/usr/bin/env", "python3", "-c", script, path, statements]
    let result = try run(program: words.map { Array($0.utf8) })
    try #require(result.status == 0, "\(result.errors)")
  }

  /// What tells whether anything of a file or folder was altered.
  func state(of path: String) throws -> String {
    let line = "find \"$0\"* -exec ls -ldi --full-time {} + -type f -exec cksum {} +"
    return try run(program: ["/bin/sh", "-c", line, path].map { Array($0.utf8) }).text
  }

  /// The keys in the store with their digests and times.
  func contents() throws -> [String] {
    let store = try Store(at: store, options: Options(isReadOnly: true))
    defer { store.close() }
    return store.entries().map { info in
      "\(info.key) \(info.digest) \(info.created) \(info.accessed) \(info.userInfo)"
    }.sorted()
  }
}
