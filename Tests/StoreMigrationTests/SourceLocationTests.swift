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

  @Test func `what is beside a database is found through a link to it`() throws {
    let sandbox = try SourceSandbox()
    for folder in ["real/data", "alias"] {
      try FileManager.default.createDirectory(
        atPath: "\(sandbox.path)/\(folder)", withIntermediateDirectories: true)
    }
    let script = """
      import shutil, sqlite3, sys
      path = sys.argv[1]
      c = sqlite3.connect(path + '.live', isolation_level=None)
      c.execute('PRAGMA journal_mode=WAL'); c.executescript(sys.argv[2])
      c.execute('PRAGMA wal_checkpoint(TRUNCATE)'); c.executescript(sys.argv[3])
      for end in ['', '-wal']: shutil.copy(path + '.live' + end, path + end)
      """
    let rows = Manifest.row("https://h/a") + Manifest.row("https://h/b", "NULL", "'file'")
    let path = sandbox.path + "/real/m"
    _ = try Python.run(["-c", script, path, Manifest.table, rows])
    _ = try sandbox.write("real/data/file", [1, 2, 3])
    let link = sandbox.path + "/alias/m"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../real/m")
    #expect(try sandbox.rows(link).map { $0.entry?.body.length } == [1, 3])
    let cache = try SourceCache(path: link, temporaryFolder: sandbox.copies)
    #expect(cache.path == path)
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
