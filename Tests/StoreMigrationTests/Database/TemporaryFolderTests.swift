import Foundation
import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct TemporaryFolderTests {
  @Test func `what a killed process has left is removed, what a living one has is not`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Manifest.table)
    let left = sandbox.copies + "/offlinecache-migration-0123456789abcdef"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
    _ = try sandbox.write("copies/offlinecache-migration-0123456789abcdef/source", [1, 2, 3])
    let first = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    let one = try FileManager.default.contentsOfDirectory(atPath: sandbox.copies)
    #expect(one.count == 1 && !FileManager.default.fileExists(atPath: left))
    let second = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    let two = try FileManager.default.contentsOfDirectory(atPath: sandbox.copies)
    #expect(two.count == 2 && Set(two).isSuperset(of: one))
    #expect(first.rowCount == second.rowCount)
  }
}
