import Foundation
import Testing

@testable import StoreMigration

struct SourceDatabaseTests {
  private func cause(_ body: () throws(SourceError) -> Void) -> SourceError.Cause? {
    do throws(SourceError) {
      try body()
      return nil
    } catch { return error.cause }
  }

  @Test func `the columns of a table are found in lower case, whatever its name is`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.open(
      try sandbox.makeDatabase(
        "db", "CREATE TABLE Rows(Key TEXT, ZURL, \"a b\"); CREATE TABLE \"q'\"\"u\"(x);"))
    #expect(try source.columns(of: "Rows") == ["key", "zurl", "a b"])
    #expect(try source.columns(of: "q'\"u") == ["x"])
    for name in ["rows", "Row", "", "Rows\0", "sqlite_master", "Rows'; DROP TABLE Rows; --"] {
      #expect(try source.columns(of: name) == nil, "\(name)")
    }
    #expect(try source.columns(of: "Rows", needing: ["KEY", "zurl"]).count == 3)
    #expect(!source.isEmpty)
  }

  @Test func `columns that are missing are named, generated ones are missing`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.open(
      try sandbox.makeDatabase("db", "CREATE TABLE t(a, b AS (a + 1));"))
    do throws(SourceError) {
      _ = try source.columns(of: "t", needing: ["a", "b", "c"])
      Issue.record("b and c are missing")
    } catch { #expect(error.cause == .missingColumns && error.detail == "t lacks b, c") }
    #expect(
      cause { () throws(SourceError) in _ = try source.columns(of: "none", needing: ["a"]) }
        == .missingColumns)
  }

  @Test func `virtual tables are no tables, views neither`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.open(
      try sandbox.makeDatabase(
        "db", "CREATE VIRTUAL TABLE f USING fts3(key); CREATE VIEW v AS SELECT 1 AS key;"))
    #expect(try source.columns(of: "f") == nil && source.columns(of: "v") == nil)
  }

  @Test func `a database without tables is empty`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase(
      "db", "PRAGMA user_version=7; CREATE TABLE t(x); DROP TABLE t")
    #expect(try sandbox.open(path).isEmpty)
    #expect(sandbox.cause(path) == .unknownSchema)
  }

  @Test func `nothing can be written once it is open`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.open(try sandbox.makeDatabase("db", "CREATE TABLE t(x)"))
    for sql in ["INSERT INTO t VALUES(1)", "DROP TABLE t", "PRAGMA user_version=5", "VACUUM"] {
      #expect(throws: DatabaseError.self, "\(sql)") { try source.database.execute(sql) }
    }
  }

  @Test func `damage in a page that no row needs is found at once`() throws {
    let sandbox = try SourceSandbox()
    let rows = (0..<200).map {
      [DatabaseValue.text("\($0)"), .blob([UInt8](repeating: 7, count: 99))]
    }
    let path = try sandbox.makeDatabase(
      "db", "PRAGMA page_size=1024; CREATE TABLE t(a, b); CREATE INDEX i ON t(a)", into: "t", rows)
    #expect(cause { () throws(SourceError) in _ = try sandbox.open(path) } == nil)
    var bytes = try [UInt8](Data(contentsOf: URL(filePath: path)))
    // A leaf of the index.
    let leaf = try #require(
      stride(from: 1_024, to: bytes.count, by: 1_024).reversed().first { bytes[$0] == 0x0a })
    bytes.replaceSubrange(leaf + 8..<leaf + 40, with: [UInt8](repeating: 0xff, count: 32))
    let damaged = try sandbox.write("damaged", bytes)
    #expect(cause { () throws(SourceError) in _ = try sandbox.open(damaged) } == .corrupt)
  }

  @Test func `rows that violate a constraint are no damage`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase(
      "db",
      """
      PRAGMA ignore_check_constraints=ON; CREATE TABLE t(x CHECK(x > 5));
      INSERT INTO t VALUES(1);
      """)
    let source = try sandbox.open(path)
    #expect(try source.database.prepare("SELECT x FROM t").first()?[0].integer == 1)
  }

  @Test func `a place for copies that is none is told with its path`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase("db", "CREATE TABLE t(x)")
    for place in ["/none", path, ""] {
      do throws(SourceError) {
        _ = try SourceDatabase(path: path, temporary: place, copyLimit: 1 << 30)
        Issue.record("\(place) is no folder")
      } catch { #expect(error.cause == .copy && error.path == place) }
    }
  }

  @Test func `a source is open until it is let go, and leaves no copy behind`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase("db", "CREATE TABLE t(x)", into: "t", [[.integer(1)]])
    var first: SourceDatabase? = try sandbox.open(path)
    let second = try sandbox.open(path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.copies).count == 2)
    // The source may go meanwhile.
    try FileManager.default.removeItem(atPath: path)
    #expect(try first?.database.prepare("SELECT x FROM t").first()?[0].integer == 1)
    first = nil
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.copies).count == 1)
    #expect(try second.database.prepare("SELECT x FROM t").first()?[0].integer == 1)
  }
}
