import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct StatementTests {
  @Test func `a key of 20 MB is skipped, the rows around it are not`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      Manifest.table + Manifest.row("https://a/")
        + "INSERT INTO manifest(key, inline_data) VALUES(CAST(zeroblob(20000000) AS TEXT), x'02');"
        + Manifest.row("https://b/"))
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try cache.allRows().map(\.reason) == [nil, .tooLarge, nil])
  }
}
