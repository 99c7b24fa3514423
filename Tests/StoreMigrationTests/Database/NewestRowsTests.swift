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
    while let row = try rows.row(found.count, key: key) { found.append(row) }
    #expect(found == [3, 4, 1, .max, 2, -7])
    try rows.remove(4, key: key)
    try rows.remove(4, key: "other")
    #expect(try rows.row(1, key: key) == 1 && rows.row(0, key: "other") == 99)
    #expect(try rows.row(0, key: "none") == nil)
  }
}
