import Foundation
import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct BodyFolderTests {
  @Test func `a folder of bodies that is a link leads nowhere`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m", Manifest.table + Manifest.row("https://a/", "NULL", "'hosts'"))
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path + "/data", withDestinationPath: "/etc")
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try cache.allRows().map(\.reason) == [.missingBodyFile])
  }

  @Test(arguments: ["..", ".", "a/b", "../data/x", ".hidden", "/etc/hosts"])
  func `names of body files that lead elsewhere are unsafe`(name: String) throws {
    let sandbox = try SourceSandbox()
    try FileManager.default.createDirectory(
      atPath: sandbox.path + "/data", withIntermediateDirectories: false)
    _ = try sandbox.write("data/x", [1])
    let path = try sandbox.database(
      "m", Manifest.table + Manifest.row("https://a/", "NULL", "'\(name)'"))
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try cache.allRows().map(\.reason) == [.unsafeFileName])
  }

  @Test func `a name with a NUL, and one of 300 bytes, are unsafe`() throws {
    let sandbox = try SourceSandbox()
    let long = String(repeating: "n", count: 300)
    let path = try sandbox.database(
      "m",
      Manifest.table + Manifest.row("https://a/", "NULL", "CAST(x'780079' AS TEXT)")
        + Manifest.row("https://b/", "NULL", "'\(long)'"))
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try cache.allRows().map(\.reason) == [.unsafeFileName, .unsafeFileName])
  }
}
