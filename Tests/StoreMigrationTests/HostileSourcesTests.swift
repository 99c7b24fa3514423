import Foundation
import StoreMigration
import Testing

/// Sources that nobody should have, and places where there is none.
@Suite(.enabled(if: Python.isThere, "python3 is needed"))
struct HostileSourcesTests {
  private func cause(
    _ path: String, _ sandbox: SourceSandbox, format: SourceFormat? = nil,
    copyLimit: UInt64 = 1 << 30
  ) -> SourceError.Cause? {
    do throws(SourceError) {
      let cache = try SourceCache(
        path: path, format: format, temporaryFolder: sandbox.copies, copyLimit: copyLimit)
      while try cache.nextRow() != nil {}
      return nil
    } catch {
      #expect(error.description.hasPrefix(error.path + ": "))
      return error.cause
    }
  }

  static let manifest = """
    CREATE TABLE manifest(key text, filename text, size integer, inline_data blob,
      modification_time integer, last_access_time integer, extended_data blob, primary key(key));
    """

  private static func row(_ key: String, _ data: String = "x'01'", _ name: String = "NULL")
    -> String
  {
    "INSERT INTO manifest VALUES('\(key)', \(name), NULL, \(data), 1, 2, NULL);"
  }

  private func rows(_ cache: SourceCache) throws -> [SourceRow] {
    var rows: [SourceRow] = []
    while let row = try cache.nextRow() { rows.append(row) }
    return rows
  }

  private func reason(_ row: SourceRow) -> SkipReason? {
    if case .skipped(let reason, _) = row.outcome { reason } else { nil }
  }

  @Test func `nothing, an empty file, text, random bytes`() throws {
    let sandbox = try SourceSandbox()
    #expect(cause(sandbox.path + "/none", sandbox) == .notFound)
    #expect(cause(try sandbox.write("empty", []), sandbox) == .empty)
    #expect(cause(try sandbox.write("text", Array("a,b,c\n".utf8)), sandbox) == .notADatabase)
    let random = (0..<8192).map { _ in UInt8.random(in: 0...255) }
    #expect(cause(try sandbox.write("random", random), sandbox) == .encrypted)
  }

  @Test(arguments: [UInt64.max, 0])
  func `a database that was cut within its last page is no database with zeros`(
    copyLimit: UInt64
  ) throws {
    let sandbox = try SourceSandbox()
    let whole = try sandbox.database(
      "whole", Self.manifest + Self.row("https://example.org/a", "randomblob(20000)"))
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: whole)))
    #expect(cause(whole, sandbox, copyLimit: copyLimit) == nil)
    for missing in [1, 100, 4_000, 4_096, 5_000] {
      let cut = try sandbox.write("cut\(missing)", Array(bytes.dropLast(missing)))
      #expect(cause(cut, sandbox, copyLimit: copyLimit) == .truncated, "\(missing) bytes")
    }
  }

  @Test func `what is no file is not read, nor what is beside a database and is none`() throws {
    let sandbox = try SourceSandbox()
    let pipe = sandbox.path + "/pipe"
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(mkfifo(pipe, 0o600) == 0)
    #expect(cause(pipe, sandbox) == .notAFile)
    #expect(cause("/dev/null", sandbox) == .notAFile)
    let database = try sandbox.database("a", Self.manifest)
    unsafe #expect(mkfifo(database + "-wal", 0o600) == 0)
    #expect(cause(database, sandbox) == .notAFile)
  }

  @Test func `a database whose name leaves no room for that of a journal is read`() throws {
    let sandbox = try SourceSandbox()
    for count in [247, 248, 251, 252, 255] {
      let name = String(repeating: "n", count: count)
      let database = try sandbox.database("a", Self.manifest)
      try FileManager.default.moveItem(atPath: database, toPath: "\(sandbox.path)/\(name)")
      for copyLimit in [UInt64.max, 0] {
        #expect(cause("\(sandbox.path)/\(name)", sandbox, copyLimit: copyLimit) == nil, "\(count)")
      }
    }
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

  @Test func `a folder with no cache, with one, with two`() throws {
    let sandbox = try SourceSandbox()
    #expect(cause(sandbox.path, sandbox) == .noDatabase)
    _ = try sandbox.database("other", "CREATE TABLE t(a);")
    #expect(cause(sandbox.path, sandbox) == .unknownSchema)
    _ = try sandbox.database("a", Self.manifest)
    #expect(cause(sandbox.path, sandbox) == nil)
    #expect(cause(sandbox.path, sandbox, format: .coredata) == .otherFormat)
    let other = try sandbox.database("b", Self.manifest)
    #expect(cause(sandbox.path, sandbox) == .ambiguous)
    // The one that cannot be read may be the newer one.
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: other)))
    _ = try sandbox.write("b", Array(bytes.dropLast(100)))
    #expect(cause(sandbox.path, sandbox) == .ambiguous)
  }

  @Test func `a key that is not UTF-8 is refused, and gives no entry under another key`() throws {
    let sandbox = try SourceSandbox()
    let bad = "CAST(x'68747470733a2f2f6578616d706c652e6f72672f63616669e9' AS TEXT)"
    let sql =
      Self.manifest
      + Self.row("https://example.org/caf%E9").replacingOccurrences(
        of: "'https://example.org/caf%E9'", with: bad)
    let cache = try SourceCache(
      path: try sandbox.database("latin", sql), temporaryFolder: sandbox.copies)
    #expect(try rows(cache).map(reason) == [.badURL])
  }

  @Test func `a view, and a table without row numbers, are no table of a cache`() throws {
    let sandbox = try SourceSandbox()
    let view = try sandbox.database(
      "view", "CREATE VIEW manifest AS SELECT 1 AS key, 2 AS filename, 3 AS size;")
    #expect(cause(view, sandbox) == .unknownSchema)
    let sql = Self.manifest.replacingOccurrences(of: ");", with: ") WITHOUT ROWID;")
    #expect(cause(try sandbox.database("without", sql), sandbox) == .missingColumns)
  }

  @Test func `a column that is called rowid does not keep the reader busy for ever`() throws {
    let sandbox = try SourceSandbox()
    let sql =
      Self.manifest.replacingOccurrences(of: "key text,", with: "key text, rowid text,")
      + "INSERT INTO manifest(key, rowid) VALUES('https://a/', 'z'), ('https://b/', 'y');"
    #expect(cause(try sandbox.database("rowid", sql), sandbox) == .corrupt)
  }

  @Test func `a row that is not in the place of its number is damage`() throws {
    let sandbox = try SourceSandbox()
    let rows = (1...5).map { Self.row("https://example.org/\($0)") }.joined()
    let whole = try sandbox.database("whole", "PRAGMA page_size=4096;" + Self.manifest + rows)
    var bytes = try [UInt8](Data(contentsOf: URL(filePath: whole)))
    // The first cell of the leaf of the table: its length, and the number of the row.
    let page = try #require(
      stride(from: 4_096, to: bytes.count, by: 4_096).first { bytes[$0] == 0x0d })
    let cell = page + Int(bytes[page + 8]) << 8 + Int(bytes[page + 9])
    #expect(bytes[cell + 1] == 1)
    bytes[cell + 1] = 50
    #expect(cause(try sandbox.write("moved", bytes), sandbox) == .corrupt)
  }

  @Test func `bytes that were changed never end the program`() throws {
    let sandbox = try SourceSandbox()
    let rows = (1...40).map { Self.row("https://example.org/\($0)", "randomblob(200)") }.joined()
    let whole = try sandbox.database("whole", Self.manifest + rows)
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: whole)))
    for _ in 0..<200 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...20) {
        changed[Int.random(in: 100..<bytes.count)] = UInt8.random(in: 0...255)
      }
      _ = cause(try sandbox.write("changed", changed), sandbox)
    }
  }

  @Test func `rows of NULLs are skipped in every format`() throws {
    let sandbox = try SourceSandbox()
    let tables: [(SourceFormat, String, SkipReason)] = [
      (
        .offlinecache,
        """
        CREATE TABLE cache_entry(id INTEGER PRIMARY KEY, creation_time, last_access_time,
          expiration_date, search_key, request, response, data, user_info);
        INSERT INTO cache_entry(id) VALUES(1), (2);
        """, .badURL
      ),
      (
        .coredata,
        """
        CREATE TABLE ZCACHEDURLRESPONSE(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZTIMESTAMP, ZENCODING,
          ZMIMETYPE, ZURL, ZDATA);
        INSERT INTO ZCACHEDURLRESPONSE(Z_PK) VALUES(1), (2);
        """, .badURL
      ),
      (
        .cfnetwork,
        """
        CREATE TABLE cfurl_cache_response(entry_ID INTEGER PRIMARY KEY, storage_policy,
          request_key, time_stamp);
        CREATE TABLE cfurl_cache_blob_data(entry_ID INTEGER PRIMARY KEY, response_object,
          request_object, proto_props, user_info);
        CREATE TABLE cfurl_cache_receiver_data(entry_ID INTEGER PRIMARY KEY, isDataOnFS,
          receiver_data);
        INSERT INTO cfurl_cache_response(entry_ID) VALUES(1), (2);
        """, .missingResponse
      ),
      (
        .yycache,
        Self.manifest + "INSERT INTO manifest(key) VALUES(NULL), (NULL);", .notAURLKey
      ),
    ]
    for (format, sql, expected) in tables {
      let path = try sandbox.database("\(format)", sql)
      let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
      #expect(cache.format == format)
      #expect(try rows(cache).map(reason) == [expected, expected])
    }
  }

  @Test func `a folder of bodies that is a link leads nowhere`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Self.manifest + Self.row("https://a/", "NULL", "'hosts'"))
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path + "/data", withDestinationPath: "/etc")
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try rows(cache).map(reason) == [.missingBodyFile])
  }

  @Test(arguments: ["..", ".", "a/b", "../data/x", ".hidden", "/etc/hosts"])
  func `names of body files that lead elsewhere are unsafe`(name: String) throws {
    let sandbox = try SourceSandbox()
    try FileManager.default.createDirectory(
      atPath: sandbox.path + "/data", withIntermediateDirectories: false)
    _ = try sandbox.write("data/x", [1])
    let path = try sandbox.database(
      "m", Self.manifest + Self.row("https://a/", "NULL", "'\(name)'"))
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try rows(cache).map(reason) == [.unsafeFileName])
  }

  @Test func `a name with a NUL, and one of 300 bytes, are unsafe`() throws {
    let sandbox = try SourceSandbox()
    let long = String(repeating: "n", count: 300)
    let path = try sandbox.database(
      "m",
      Self.manifest + Self.row("https://a/", "NULL", "CAST(x'780079' AS TEXT)")
        + Self.row("https://b/", "NULL", "'\(long)'"))
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try rows(cache).map(reason) == [.unsafeFileName, .unsafeFileName])
  }

  @Test func `text in UTF-16 is no body, its bytes would be others; keys are read`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      "PRAGMA encoding='UTF-16';" + Self.manifest + Self.row("https://a/", "'text'")
        + Self.row("https://b/", "x'07'"))
    let found = try rows(SourceCache(path: path, temporaryFolder: sandbox.copies))
    #expect(found.map(reason) == [.noBody, nil])
    #expect(found.map(\.key) == ["https://a/", "https://b/"])
  }

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
    let found = try rows(SourceCache(path: path, temporaryFolder: sandbox.copies))
    #expect(found.map(reason) == reasons)
    let lengths = found.map { row -> UInt64 in
      if case .entry(let entry) = row.outcome { entry.body.length } else { 0 }
    }
    #expect(lengths == (reasons[1] == nil ? [2, 2] : [1, 0]))
  }

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
    #expect(try rows(cache).map(reason) == [.noBody, .duplicateKeySuperseded, nil, nil])
  }

  @Test func `a key of 20 MB is skipped, the rows around it are not`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      Self.manifest + Self.row("https://a/")
        + "INSERT INTO manifest(key, inline_data) VALUES(CAST(zeroblob(20000000) AS TEXT), x'02');"
        + Self.row("https://b/"))
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    #expect(try rows(cache).map(reason) == [nil, .tooLarge, nil])
  }

  @Test func `a body of 20 MB comes in pieces, while rows are asked for`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database(
      "m",
      Self.manifest + Self.row("https://a/", "zeroblob(20000000)") + Self.row("https://b/", "x'07'")
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

  @Test func `it goes on after any row`() throws {
    let sandbox = try SourceSandbox()
    let keys = (1...5).map { "https://h/\($0)" }
    let path = try sandbox.database("m", Self.manifest + keys.map { Self.row($0) }.joined())
    let cache = try SourceCache(path: path, temporaryFolder: sandbox.copies)
    cache.startAfter(3)
    #expect(try rows(cache).map(\.key) == Array(keys[3...]))
    cache.startAfter(.max)
    #expect(try cache.nextRow()?.row == nil)
    cache.startAfter(.min)
    #expect(try rows(cache).count == 5)
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
    _ = try Python.run(["-c", script, sandbox.path, victim, Self.manifest])
    #expect(cause(sandbox.path + "/m.db", sandbox) == .superJournal)
    #expect(FileManager.default.fileExists(atPath: victim))
  }

  @Test func `a database that another process writes to is busy in place`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Self.manifest + Self.row("https://a/"))
    let writer = Process()
    writer.executableURL = URL(filePath: "/usr/bin/env")
    let script = """
      import sqlite3, sys
      c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('begin exclusive')
      print('locked', flush=True); sys.stdin.read()
      """
    writer.arguments = ["python3", "-c", script, path]
    let (input, output) = (Pipe(), Pipe())
    writer.standardInput = input
    writer.standardOutput = output
    try writer.run()
    #expect(output.fileHandleForReading.availableData.count > 0)
    #expect(cause(path, sandbox, copyLimit: 0) == .busy)
    try input.fileHandleForWriting.close()
    writer.waitUntilExit()
    #expect(cause(path, sandbox, copyLimit: 0) == nil)
  }

  @Test func `a journal that comes and goes is a writer, and no file that is missing`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Self.manifest + Self.row("https://a/"))
    // Makes and removes the -journal without pause, as a program does that writes.
    let script = """
      import os, select, sys
      path = sys.argv[1] + '-journal'
      print('begun', flush=True)
      while not select.select([sys.stdin], [], [], 0)[0]:
          open(path, 'w').close(); os.unlink(path)
      """
    let writer = Process()
    writer.executableURL = URL(filePath: "/usr/bin/env")
    writer.arguments = ["python3", "-c", script, path]
    let (input, output) = (Pipe(), Pipe())
    writer.standardInput = input
    writer.standardOutput = output
    try writer.run()
    #expect(output.fileHandleForReading.availableData.count > 0)
    for _ in 0..<200 {
      let cause = cause(path, sandbox)
      #expect(cause == nil || cause == .busy)
    }
    try input.fileHandleForWriting.close()
    writer.waitUntilExit()
  }

  @Test func `what a killed process has left is removed, what a living one has is not`() throws {
    let sandbox = try SourceSandbox()
    let path = try sandbox.database("m", Self.manifest)
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
