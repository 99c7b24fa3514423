import CacheSystem
import Foundation
import Testing
import ToolTesting

@testable import StoreMigration

@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct PrivateCopyTests {
  @Test func `a file that grows while it is copied is copied to the end that it had`() throws {
    let sandbox = try SourceSandbox()
    let source = try sandbox.write("source", Array(repeating: 7, count: 3_000_000))
    let folder = try TemporaryFolder(in: sandbox.path)
    try PrivateCopy.copy(source, 2_000_000, to: "copy", in: folder, MigrationStop())
    let copy = try RealFileSystem().status(userPath: "\(folder.path)/copy")
    #expect(copy.length == 2_000_000)
  }

  @Test func `a source that cannot be read is no lack of room for the copy`() throws {
    let sandbox = try SourceSandbox()
    let folder = try TemporaryFolder(in: sandbox.path)
    let error = #expect(throws: SourceError.self) {
      // A folder can be opened, but not read.
      try PrivateCopy.copy(sandbox.copies, 100, to: "copy", in: folder, MigrationStop())
    }
    #expect(error?.cause == .unreadable && error?.path == sandbox.copies)
  }

  @Test(arguments: [UInt64.max, 0])
  func `a database that was cut within its last page is no database with zeros`(
    copyLimit: UInt64
  ) throws {
    let sandbox = try SourceSandbox()
    let whole = try sandbox.database(
      "whole", Manifest.table + Manifest.row("https://example.org/a", "randomblob(20000)"))
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: whole)))
    #expect(sandbox.cause(whole, copyLimit: copyLimit) == nil)
    for missing in [1, 100, 4_000, 4_096, 5_000] {
      let cut = try sandbox.write("cut\(missing)", Array(bytes.dropLast(missing)))
      #expect(sandbox.cause(cut, copyLimit: copyLimit) == .truncated, "\(missing) bytes")
    }
  }

  @Test func `a journal that names a super-journal is refused, and no file goes away`() throws {
    let sandbox = try SourceSandbox()
    let victim = try sandbox.write("victim", Array("keep me".utf8))
    // A hot journal, to which the name of the victim is appended as SQLite appends a super-journal.
    let script = """
      import shutil, sqlite3, struct, sys
      base, victim = sys.argv[1], sys.argv[2].encode()
      c = sqlite3.connect(base + '/w.db', isolation_level=None)
      c.executescript(sys.argv[3])
      c.execute('pragma cache_size=1'); c.execute('begin')
      for i in range(200):
          c.execute('insert into manifest(key, inline_data) values(?, zeroblob(3000))', (str(i),))
      shutil.copyfile(base + '/w.db', base + '/m.db')
      b = open(base + '/w.db-journal', 'rb').read()
      b += struct.pack('>I', 0x40000000) + victim
      b += struct.pack('>II', len(victim), sum(victim)) + bytes.fromhex('d9d505f920a163d7')
      open(base + '/m.db-journal', 'wb').write(b)
      """
    _ = try Python.run(["-c", script, sandbox.path, victim, Manifest.table])
    #expect(sandbox.cause(sandbox.path + "/m.db") == .superJournal)
    #expect(FileManager.default.fileExists(atPath: victim))
  }

  @Test func `a request to stop ends the copy, and nothing of it stays`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase("m", Manifest.table)
    let stop = MigrationStop()
    stop.request()
    do throws(SourceError) {
      _ = try SourceDatabase(path: path, temporary: sandbox.copies, copyLimit: 1 << 30, stop: stop)
      Issue.record("it was copied")
    } catch { #expect(error.cause == .cancelled && error.path == path) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.copies) == [])
    #expect(throws: MigrationError.cancelled) {
      try Migration(from: path, to: sandbox.path + "/store", options: sandbox.options, stop: stop)
    }
  }

  @Test(arguments: [UInt64.max, 0])
  func `the files of a source are those that were copied, not what they have become`(
    copyLimit: UInt64
  ) throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.makeDatabase("m", Manifest.table)
    let before = try DatabaseFiles(of: path)
    let source = try SourceDatabase(path: path, temporary: sandbox.copies, copyLimit: copyLimit)
    try FileManager.default.removeItem(atPath: path)
    _ = try sandbox.makeDatabase("m", Manifest.table + Manifest.row("https://a/"))
    #expect(try source.files == before && DatabaseFiles(of: path) != before)
  }

  @Test func `a database that another process writes to is busy in place`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Manifest.table + Manifest.row("https://a/"))
    let script = """
      import sqlite3, sys
      c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('begin exclusive')
      print('locked', flush=True); sys.stdin.read()
      """
    let writer = try Writer(script, path)
    #expect(sandbox.cause(path, copyLimit: 0) == .busy)
    try writer.end()
    #expect(sandbox.cause(path, copyLimit: 0) == nil)
  }

  @Test(arguments: [
    ("memory", "begin exclusive", true), ("off", "begin exclusive", true),
    ("memory", "begin immediate", false), ("memory", "begin; select * from manifest", false),
  ])
  func `a database that is written without a journal is not copied`(
    mode: String, statement: String, isBusy: Bool
  ) throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Manifest.table + Manifest.row("https://a/"))
    let script = """
      import sqlite3, sys
      c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('pragma journal_mode=\(mode)')
      for s in '\(statement)'.split(';'): c.execute(s).fetchone()
      print('locked', flush=True); sys.stdin.read()
      """
    let writer = try Writer(script, path)
    #expect(sandbox.cause(path) == (isBusy ? .busy : nil))
    try writer.end()
    #expect(sandbox.cause(path) == nil)
  }

  @Test func `a journal that comes and goes is a writer, and no file that is missing`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Manifest.table + Manifest.row("https://a/"))
    // Makes and removes the -journal without pause, as a program does that writes.
    let script = """
      import os, select, sys
      path = sys.argv[1] + '-journal'
      print('begun', flush=True)
      while not select.select([sys.stdin], [], [], 0)[0]:
          open(path, 'w').close(); os.unlink(path)
      """
    let writer = try Writer(script, path)
    for _ in 0..<200 {
      let cause = sandbox.cause(path)
      #expect(cause == nil || cause == .busy)
    }
    try writer.end()
  }
}

/// Another process, whose Python program says that it has begun, and ends with its input.
private struct Writer {
  private let child: Child
  private let (input, output): (ToolTesting.Pipe, ToolTesting.Pipe)

  init(_ script: String, _ path: String) throws {
    (input, output) = (try ToolTesting.Pipe(), try ToolTesting.Pipe())
    child = try Child(
      "/usr/bin/env", ["python3", "-c", script, path].map { Array($0.utf8) },
      descriptors: [input.reader, output.writer])
    close(input.reader)
    close(output.writer)
    #expect(try !read(output.reader, atMost: 64).isEmpty)
  }

  func end() throws {
    close(input.writer)
    let status = try child.wait()
    close(output.reader)
    #expect(status == 0)
  }
}
