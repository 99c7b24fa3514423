import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct BodyPlacesTests {
  @Test(arguments: [
    ("x'0201'", [SkipReason?.none, nil]),
    (
      "CAST(x'02' || '0A1B2C3D-0000-4000-8000-0123456789AB' || x'00' AS BLOB)",
      [nil, .missingBodyFile]
    ),
  ])
  func `bodies in a folder that was lost are missing`(
    second: String, reasons: [SkipReason?]
  ) throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "c",
      """
      CREATE TABLE ZCACHEDURLRESPONSE(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZTIMESTAMP, ZENCODING,
        ZMIMETYPE, ZURL, ZDATA);
      INSERT INTO ZCACHEDURLRESPONSE VALUES(1, 1, 30, NULL, NULL, 'https://a/', x'0141'),
        (2, 1, 10, NULL, NULL, 'https://b/', \(second));
      """)
    let found = try SourceCache(path: path, temporaryFolder: sandbox.copies).allRows()
    #expect(found.map(\.reason) == reasons)
    let lengths = found.map { row -> UInt64 in
      if case .entry(let entry) = row.outcome { entry.body.length } else { 0 }
    }
    #expect(lengths == (reasons[1] == nil ? [2, 2] : [1, 0]))
  }
}
