import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct SourceBodyReaderTests {
  @Test func `a body of 20 MB comes in pieces, while rows are asked for`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      Manifest.table + Manifest.row("https://a/", "zeroblob(20000000)")
        + Manifest.row("https://b/", "x'07'")
    )
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    guard case .entry(let big)? = try cache.nextRow()?.outcome else {
      Issue.record("no entry")
      return
    }
    let reader = try cache.openBody(big.body)
    #expect(try reader.next()?.count == SourceBodyReader.pieceBytes)
    #expect(try cache.nextRow()?.row == 2)
    var count = SourceBodyReader.pieceBytes
    while let piece = try reader.next() { count += piece.count }
    #expect(count == 20_000_000 && reader.length == 20_000_000)
  }
}
