import Foundation
import Testing

@testable import StoreMigration

struct DatabaseTests {
  private func code(_ body: () throws(DatabaseError) -> Void) -> SourceError.Cause? {
    do throws(DatabaseError) {
      try body()
      return nil
    } catch { return error.cause }
  }

  @Test func `a database is created only where that is asked for`() throws {
    let sandbox = try SourceSandbox()
    let path = sandbox.path + "/db"
    for access in [Database.Access.read, .recover] {
      #expect(
        code { () throws(DatabaseError) in _ = try Database(path: path, access) } == .permission)
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    try Database(path: path, .create).execute("CREATE TABLE t(x)")
    let reading = try Database(path: path, .read)
    #expect(
      code { () throws(DatabaseError) in try reading.execute("INSERT INTO t VALUES(1)") }
        == .unfinished)
    try Database(path: path, .recover).execute("INSERT INTO t VALUES(1)")
    #expect(try reading.prepare("SELECT count(*) FROM t").first()?[0].integer == 1)
  }

  @Test(arguments: [":memory:", "file::memory:", "file:///dev/null", "file:x?vfs=none", ""])
  func `a name with a meaning for SQLite is that of a file`(name: String) {
    #expect(
      code { () throws(DatabaseError) in
        let database = try Database(path: name, .read)
        _ = try database.prepare("SELECT count(*) FROM sqlite_master").first()
      } != nil)
  }

  @Test func `a file whose name begins like a URI is opened as it is`() throws {
    let sandbox = try SourceSandbox()
    try FileManager.default.createDirectory(
      atPath: sandbox.path + "/file:", withIntermediateDirectories: false)
    let path = sandbox.path + "/file:/a%20b?mode=memory#c"
    try Database(path: path, .create).execute("CREATE TABLE t(x)")
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(sandbox.cause(path) == .unknownSchema)
  }

  @Test func `values end at 16 MiB, in pieces they are read beyond`() throws {
    let sandbox = try SourceSandbox()
    let database = try Database(path: sandbox.path + "/db", .create)
    let most = Database.maximumValueBytes
    try database.execute("CREATE TABLE t(x)")
    try database.insert([.blob([UInt8](repeating: 1, count: most - 100))], into: "t")
    #expect(try database.prepare("SELECT x FROM t").first()?[0].bytes?.count == most - 100)
    do throws(DatabaseError) {
      _ = try database.prepare("SELECT zeroblob(?)").first([.integer(Int64(most) + 1)])
      Issue.record("it is too large")
    } catch { #expect(error.isTooLarge) }
  }

  @Test func `other databases, triggers, and writing to the schema are out of reach`() throws {
    let sandbox = try SourceSandbox()
    let database = try Database(path: sandbox.path + "/db", .create)
    try database.execute("CREATE TABLE t(x)")
    for sql in [
      "ATTACH ':memory:' AS other", "ATTACH '\(sandbox.path)/other' AS other",
      "PRAGMA writable_schema=ON; DELETE FROM sqlite_master", "SELECT load_extension('x')",
    ] { #expect(code { () throws(DatabaseError) in try database.execute(sql) } != nil, "\(sql)") }
    try database.execute(
      "CREATE TRIGGER after_insertion AFTER INSERT ON t BEGIN INSERT INTO t VALUES(2); END")
    try database.insert([.integer(1)], into: "t")
    #expect(try database.prepare("SELECT count(*) FROM t").first()?[0].integer == 1)
    #expect(!FileManager.default.fileExists(atPath: sandbox.path + "/other"))
  }

  @Test func `a row that is bound to every type comes back as it was`() throws {
    let sandbox = try SourceSandbox()
    let database = try Database(path: sandbox.path + "/db", .create)
    try database.execute("CREATE TABLE t(a, b, c, d, e, f)")
    let values: [DatabaseValue] = [
      .null, .integer(.min), .real(-.infinity), .text([0x61, 0, 0xff]), .blob([0, 1]), .blob([]),
    ]
    try database.insert(values, into: "t")
    let found = try #require(try database.prepare("SELECT * FROM t").first())
    #expect(found.map { "\($0)" } == values.map { "\($0)" })
    // NaN is NULL in SQLite.
    try database.insert([.real(.nan)] + values.dropFirst(), into: "t")
    let second = try #require(try database.prepare("SELECT a FROM t WHERE rowid = 2").first())
    #expect(second[0].number == nil && second[0].bytes == nil)
  }

  @Test func `a request to stop ends a running statement`() throws {
    let sandbox = try SourceSandbox()
    let stop = MigrationStop()
    let database = try Database(path: sandbox.path + "/db", .create, stop: stop)
    let sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000000) "
    let counting = try database.prepare(sql + "SELECT count(*) FROM c")
    #expect(try counting.first()?[0].integer == 2_000_000)
    stop.request()
    #expect(code { () throws(DatabaseError) in _ = try counting.first() } == .cancelled)
  }

  @Test func `a journal to roll back keeps a database from being read in place`() throws {
    let sandbox = try SourceSandbox()
    let script = """
      import shutil, sqlite3, sys
      path = sys.argv[1]
      c = sqlite3.connect(path + '.live', isolation_level=None)
      c.executescript('CREATE TABLE t(x); PRAGMA cache_size=1; BEGIN')
      for i in range(200): c.execute('INSERT INTO t VALUES(zeroblob(3000))')
      for end in ['', '-journal']: shutil.copy(path + '.live' + end, path + end)
      """
    let path = sandbox.path + "/db"
    _ = try Python.run(["-c", script, path])
    let database = try Database(path: path, .read)
    let cause = code { () throws(DatabaseError) in
      _ = try database.prepare("SELECT count(*) FROM t").first()
    }
    #expect(cause == .unfinished)
  }
}
