import Testing

@testable import StoreMigration

struct DatabaseBlobTests {
  /// Makes a table with a row for each value.
  private func database(_ sandbox: SourceSandbox, _ values: [DatabaseValue]) throws -> Database {
    let rows = values.map { [$0] }
    return try Database(
      path: sandbox.makeDatabase("db", "CREATE TABLE t(x)", into: "t", rows), .read)
  }

  @Test func `bytes are read from any place, and end with the value`() throws {
    let sandbox = try SourceSandbox()
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    let blob = try database(sandbox, [.blob(bytes)]).openBlob("t", "x", row: 1)
    #expect(blob.count == bytes.count && blob.row == 1)
    for (offset, count) in [
      (0, 1), (0, 10_000), (0, 10_001), (4_095, 2), (9_999, 1), (9_999, 2), (10_000, 1),
      (10_001, 1), (1 << 40, 7), (0, 0), (5, -1), (9_990, .max),
    ] {
      let expected = bytes.dropFirst(offset).prefix(max(0, count))
      #expect(try blob.read(at: offset, count: count) == Array(expected), "\(offset), \(count)")
    }
  }

  @Test func `it moves to the values of other rows, and not to what has no bytes`() throws {
    let sandbox = try SourceSandbox()
    let database = try database(
      sandbox, [.blob([1]), .text("two"), .blob([]), .null, .integer(5), .real(6)])
    let blob = try database.openBlob("t", "x", row: 1)
    for (row, expected) in [(2, Array("two".utf8)), (3, []), (1, [1])] {
      try blob.move(to: Int64(row))
      #expect(try blob.row == row && blob.read(at: 0, count: 100) == expected)
    }
    for row in [4, 5, 6, 7, 0, .min, .max] as [Int64] {
      #expect(throws: DatabaseError.self, "row \(row)") {
        try database.openBlob("t", "x", row: row)
      }
      let moved = try database.openBlob("t", "x", row: 1)
      #expect(throws: DatabaseError.self, "row \(row)") { try moved.move(to: row) }
      #expect((try? moved.read(at: 0, count: 1)) ?? [] == [], "row \(row)")
    }
  }

  @Test func `a column or a table that is missing is told`() throws {
    let sandbox = try SourceSandbox()
    let database = try database(sandbox, [.blob([1])])
    for (table, column) in [("t", "y"), ("u", "x"), ("", ""), ("sqlite_master", "z")] {
      #expect(throws: DatabaseError.self) { try database.openBlob(table, column, row: 1) }
    }
  }

  @Test func `a value that is changed under it is not read`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase("db", "CREATE TABLE t(x)", into: "t", [[.blob([1, 2])]])
    let database = try Database(path: path, .recover)
    let blob = try database.openBlob("t", "x", row: 1)
    try database.execute("UPDATE t SET x = x'03'")
    #expect(throws: DatabaseError.self) { try blob.read(at: 0, count: 1) }
  }
}
