import Foundation
import StoreMigration
import Testing

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct SourceLocationTests {
  @Test func `a folder with no cache, with one, with two`() throws {
    let sandbox = try SourceSandbox()
    #expect(sandbox.cause(sandbox.path) == .noDatabase)
    _ = try sandbox.database("other", "CREATE TABLE t(a);")
    #expect(sandbox.cause(sandbox.path) == .unknownSchema)
    _ = try sandbox.database("a", Manifest.table)
    #expect(sandbox.cause(sandbox.path) == nil)
    #expect(sandbox.cause(sandbox.path, format: .coredata) == .otherFormat)
    let other = try sandbox.database("b", Manifest.table)
    #expect(sandbox.cause(sandbox.path) == .ambiguous)
    // The one that cannot be read may be the newer one.
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: other)))
    _ = try sandbox.write("b", Array(bytes.dropLast(100)))
    #expect(sandbox.cause(sandbox.path) == .ambiguous)
  }

  @Test func `a database without its -wal, or with a name that is not UTF-8, says so`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("a", "PRAGMA journal_mode=WAL;")
    _ = try sandbox.write("a-wal", [1, 2, 3])
    let error = #expect(throws: SourceError.self) {
      try SourceCache(path: path, temporaryFolder: sandbox.copies)
    }
    #expect(error?.cause == .unknownSchema && error?.detail.hasPrefix("a-wal is cut off") == true)
    try FileManager.default.removeItem(atPath: path + "-wal")
    let name = Array("\(sandbox.path)/".utf8CString.dropLast()) + [-1, 0]
    // Safety: both paths end with a zero and live during the call.
    unsafe #expect(rename(path, name) == 0)
    let other = #expect(throws: SourceError.self) {
      try SourceCache(path: sandbox.path, temporaryFolder: sandbox.copies)
    }
    #expect(other?.cause == .noDatabase && other?.detail.contains("not UTF-8") == true)
  }

  @Test func `what is no file is not read, nor what is beside a database and is none`() throws {
    let sandbox = try SourceSandbox()
    let pipe = sandbox.path + "/pipe"
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(mkfifo(pipe, 0o600) == 0)
    #expect(sandbox.cause(pipe) == .notAFile)
    #expect(sandbox.cause("/dev/null") == .notAFile)
    let database = try sandbox.database("a", Manifest.table)
    unsafe #expect(mkfifo(database + "-wal", 0o600) == 0)
    #expect(sandbox.cause(database) == .notAFile)
  }

  @Test func `a database whose name leaves no room for that of a journal is read`() throws {
    let sandbox = try SourceSandbox()
    for count in [247, 248, 251, 252, 255] {
      let name = String(repeating: "n", count: count)
      let database = try sandbox.database("a", Manifest.table)
      try FileManager.default.moveItem(atPath: database, toPath: "\(sandbox.path)/\(name)")
      for copyLimit in [UInt64.max, 0] {
        #expect(sandbox.cause("\(sandbox.path)/\(name)", copyLimit: copyLimit) == nil, "\(count)")
      }
    }
  }
}
