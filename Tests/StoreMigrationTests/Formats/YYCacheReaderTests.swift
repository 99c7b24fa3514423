import Foundation
import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct YYCacheReaderTests {
  @Test func `a key that is not UTF-8 is refused, and gives no entry under another key`() throws {
    let sandbox = try SourceSandbox()
    let bad = "CAST(x'68747470733a2f2f6578616d706c652e6f72672f63616669e9' AS TEXT)"
    let sql =
      Manifest.table
      + Manifest.row("https://example.org/caf%E9").replacingOccurrences(
        of: "'https://example.org/caf%E9'", with: bad)
    let cache = try SourceCache(
      path: try sandbox.database("latin", sql), temporaryFolder: sandbox.copies)
    #expect(try cache.allRows().map(\.reason) == [.badURL])
  }

  @Test func `text in UTF-16 is no body, its bytes would be others; keys are read`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      "PRAGMA encoding='UTF-16';" + Manifest.table + Manifest.row("https://a/", "'text'")
        + Manifest.row("https://b/", "x'07'"))
    let found = try SourceCache(path: path, temporaryFolder: sandbox.copies).allRows()
    #expect(found.map(\.reason) == [.noBody, nil])
    #expect(found.map(\.key) == ["https://a/", "https://b/"])
  }
}
