import CacheFormat
import Testing

@testable import StoreMigration

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct NewestRowsTests {
  @Test func `of three rows with one key the newest that is good counts`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "c",
      """
      CREATE TABLE ZCACHEDURLRESPONSE(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZTIMESTAMP, ZENCODING,
        ZMIMETYPE, ZURL, ZDATA);
      INSERT INTO ZCACHEDURLRESPONSE VALUES(1, 1, 30, NULL, NULL, 'https://a/', NULL),
        (2, 1, 10, NULL, NULL, 'https://a/', x'02'), (3, 1, 20, NULL, NULL, 'https://a/', x'03'),
        (4, 1, 20, NULL, NULL, 'https://b/', x'04');
      """)
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try cache.allRows().map(\.reason) == [.noBody, .duplicateKeySuperseded, nil, nil])
  }

  @Test func `rows of a key come by their recency, then by their number`() throws {
    let sandbox = try SourceSandbox()
    let rows = try NewestRows(in: TemporaryFolder(in: sandbox.copies))
    let key: ByteString = "k"
    for (row, recency) in [(1, 5.0), (2, nil), (3, 9.0), (4, 5.0), (-7, nil), (.max, -1e300)] {
      try rows.add(Int64(row), key: key, recency: recency)
    }
    try rows.add(99, key: "other", recency: 100)
    // A row that is added twice is there once.
    try rows.add(3, key: key, recency: 9)
    var found: [Int64] = []
    while let row = try rows.row(found.count, key: key) { found.append(row.number) }
    #expect(found == [3, 4, 1, .max, 2, -7])
    let second = NewestRows.Row(number: 4, recency: 5)
    #expect(try rows.row(1, key: key) == second)
    try rows.remove(second, key: key)
    try rows.remove(second, key: "other")
    #expect(try rows.row(1, key: key)?.number == 1 && rows.row(0, key: "other")?.number == 99)
    #expect(try rows.row(0, key: "none") == nil)
  }

  @Test func `removing a row does not read the other rows of its key`() throws {
    let sandbox = try SourceSandbox()
    let stop = MigrationStop()
    let rows = try NewestRows(in: TemporaryFolder(in: sandbox.copies), stop: stop)
    let count: Int64 = 9_000
    for row in 0..<count { try rows.add(row, key: "k", recency: row == 5 ? nil : Double(row)) }
    // Now a statement ends after 10,000 instructions.
    stop.request()
    for row in [0, 5, count - 1] {
      let recency = row == 5 ? -Double.infinity : Double(row)
      try rows.remove(NewestRows.Row(number: row, recency: recency), key: "k")
    }
    #expect(try rows.row(0, key: "k")?.number == count - 2)
  }
}
