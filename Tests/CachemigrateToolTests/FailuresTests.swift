import CLibrary
import CacheFormat
import CacheStore
import Testing
import ToolTesting

@Suite struct FailuresTests {
  /// Expects the status 8, and one message that names path, cause and remedy.
  private func expectFailure(
    _ tool: ToolRun, _ words: [String], _ cause: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let result = try tool.migrate(words)
    #expect(result.status == 8, sourceLocation: sourceLocation)
    #expect(result.errors.hasPrefix("cachemigrate: "), sourceLocation: sourceLocation)
    #expect(result.errors.contains(cause), "\(result.errors)", sourceLocation: sourceLocation)
    #expect(result.errors.contains("; "), sourceLocation: sourceLocation)
    #expect(result.output == [], sourceLocation: sourceLocation)
  }

  private func change(_ path: String, to mode: String) throws {
    #expect(try Child("/bin/chmod", [mode, path].map { Array($0.utf8) }).wait() == 0)
  }

  /// Expects that a dry run fails with the message of a migration.
  private func expectSamePlan(
    _ tool: ToolRun, _ source: String, _ target: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let plan = try tool.migrate(["--dry-run", source, target])
    try expectFailure(tool, [source, target], plan.errors, sourceLocation: sourceLocation)
    #expect(plan.status == 8 && plan.output == [], sourceLocation: sourceLocation)
    #expect(plan.errors.contains(target), "\(plan.errors)", sourceLocation: sourceLocation)
  }

  @Test func `sources that are none`() throws {
    let tool = ToolRun()
    try tool.write([], to: tool.path("empty"))
    try tool.write(Array("text, no database".utf8), to: tool.path("text"))
    try expectFailure(tool, [tool.path("none"), tool.store], "there is no such file or folder")
    try expectFailure(tool, [tool.path("empty"), tool.store], "the file is empty")
    try expectFailure(tool, [tool.path("text"), tool.store], "it is no SQLite database")
    let source = try tool.makeSource("m", rows: 1...2)
    try expectFailure(
      tool, ["--from", "coredata", source, tool.store],
      "it is a cache of another format (yycache); leave --from out")
    #expect(try Child("/bin/mkdir", [tool.path("folder")].map { Array($0.utf8) }).wait() == 0)
    try expectFailure(
      tool, [tool.path("folder"), tool.store], "there is no SQLite database in the folder; name")
    try tool.write([], to: tool.path("folder/Cache.db"))
    try expectFailure(tool, [tool.path("folder"), tool.store], "(Cache.db is empty)")
    try tool.sql(tool.path("other"), "CREATE TABLE t(x)")
    try expectFailure(
      tool, [tool.path("other"), tool.store], "there is no cache of a known format in it; see")
    #expect(!exists(tool.store))
  }

  @Test func `names in errors cannot steer a terminal`() throws {
    let tool = ToolRun()
    let name = "a\u{1B}[2J\u{9B}b"
    let shown = "a\\x1b[2J\\u{9b}b"
    try expectFailure(tool, [tool.path(name), tool.store], "/\(shown): there is no such file")
    let source = try tool.makeSource("s", rows: 1...1)
    try expectFailure(
      tool, ["--report", tool.path("\(name)/r"), source, tool.store], "/\(shown)/r: cannot be")
  }

  @Test func `source and destination in each other's way`() throws {
    let tool = ToolRun()
    #expect(try Child("/bin/mkdir", [tool.path("in")].map { Array($0.utf8) }).wait() == 0)
    let source = try tool.makeSource("in/m", rows: 1...2)
    let before = try tool.state(of: tool.path("in"))
    try expectFailure(tool, [source, source], "source and destination are the same")
    try expectFailure(
      tool, [tool.path("in"), tool.path("in/../in")], "source and destination are the same")
    try expectFailure(
      tool, [tool.path("in"), tool.path("in/a/b")], "the destination lies in the source")
    try expectFailure(tool, [source, tool.path("in")], "")
    try expectFailure(
      tool, ["--report", source, source, tool.store], "the report is a part of the source")
    try expectFailure(
      tool, ["--report", tool.path("in/r"), tool.path("in"), tool.store], "a part of the source")
    #expect(try tool.state(of: tool.path("in")) == before)
    // Beside a database that is named itself there may be one.
    #expect(try tool.migrate([source, tool.path("in/store")]).status == 0)
    try expectFailure(tool, [source, "/proc/none"], "")
  }

  @Test func `a source in the destination`() throws {
    let tool = ToolRun()
    try Store(at: tool.store).close()
    let source = try tool.makeSource("store/m", rows: 1...2)
    try expectFailure(tool, [source, tool.store], "the source lies in the destination")
  }

  @Test func `a destination of a newer format, and one that is no store`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    try Store(at: tool.store).close()
    let path = "\(tool.store)/store.json"
    let text = String(decoding: try tool.read(path), as: UTF8.self)
    let range = try #require(text.firstRange(of: "\"format\": 1,"))
    let end = try #require(text.firstRange(of: ",\n \"checksum\"")).lowerBound
    let newer = text[..<range.lowerBound] + "\"format\": 2," + text[range.upperBound..<end]
    let checksum = Hexadecimal.string(Checksum.of(Array(newer.utf8)))
    try tool.write(Array("\(newer),\n \"checksum\": \"\(checksum)\"\n}\n".utf8), to: path)
    try expectFailure(tool, [source, tool.store], "newer")
    try tool.write([], to: tool.path("file"))
    try expectFailure(tool, [source, tool.path("file")], tool.path("file"))
  }

  @Test(.enabled(if: getuid() != 0, "root may do everything"))
  func `no permission`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    try Store(at: tool.store).close()
    try change(tool.store, to: "500")
    try expectSamePlan(tool, source, "\(tool.store)/a")
    try change("\(tool.store)/lock", to: "400")
    try expectSamePlan(tool, source, tool.store)
    try change(tool.store, to: "700")
    try change(source, to: "0")
    try expectFailure(tool, [source, tool.path("other")], "it may not be read")
  }

  @Test func `a plan finds a destination that cannot be a folder`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    try tool.write([], to: tool.path("file"))
    try makeLink(tool.path("link"), to: tool.path("none"))
    for name in ["file", "file/a", "link"] { try expectSamePlan(tool, source, tool.path(name)) }
    #expect(try tool.migrate(["--dry-run", source, tool.path("a/b")]).status == 0)
    #expect(!exists(tool.path("a")))
  }

  @Test(.enabled(if: SmallVolume.canBeMade, "mount(8) is not allowed here"))
  func `a plan finds a destination on a volume that cannot be written`() throws {
    let tool = ToolRun()
    let volume = try SmallVolume(at: tool.path("volume"), bytes: 4 << 20)
    let source = try tool.makeSource("m", rows: 1...2)
    #expect(try tool.migrate([source, "\(volume.path)/store"]).status == 0)
    #expect(try Child("/bin/mkdir", [Array("\(volume.path)/empty".utf8)]).wait() == 0)
    try volume.makeReadOnly()
    for name in ["store", "empty", "none"] {
      try expectSamePlan(tool, source, "\(volume.path)/\(name)")
    }
    try expectFailure(tool, ["--dry-run", source, "\(volume.path)/none/a/"], "/none: Read-only")
  }

  @Test func `a report is written to no file with two names`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    let (report, other) = (tool.path("report"), tool.path("other"))
    try tool.write([1, 2, 3], to: report)
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    unsafe #expect(link(report, other) == 0)
    try expectFailure(tool, ["--report", report, source, tool.store], "it has another name, too")
    #expect(try tool.read(other) == [1, 2, 3])
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `a report is written to no file of another user`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    let report = tool.path("report")
    try tool.write([1, 2, 3], to: report)
    // Safety: the path is passed as a zero-terminated copy that lives during the call.
    unsafe #expect(lchown(report, 65_534, 65_534) == 0)
    try expectFailure(
      tool, ["--report", report, source, tool.store], "it belongs to another user")
    #expect(try tool.read(report) == [1, 2, 3])
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `nothing is written through the link of another user`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    let (shared, victim) = (tool.path("shared"), tool.path("victim"))
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    for path in [shared, victim] { unsafe #expect(mkdir(path, 0o700) == 0) }
    try makeLink("\(shared)/out", to: victim)
    unsafe #expect(lchown("\(shared)/out", 65_534, 65_534) == 0)
    unsafe #expect(chmod(shared, 0o1777) == 0)
    let reason = "\(shared)/out belongs to another user"
    try expectFailure(tool, ["--report", "\(shared)/out/r", source, tool.store], reason)
    for words in [[], ["--dry-run"]] {
      try expectFailure(tool, words + [source, "\(shared)/out/store"], reason)
    }
    #expect(try names(in: victim).isEmpty)
  }

  @Test func `a report is no part of the source, nor of the destination`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    for name in ["m-wal", "m-shm", "m-journal"] { try tool.write([1, 2, 3], to: tool.path(name)) }
    #expect(try Child("/bin/mkdir", [tool.path("data")].map { Array($0.utf8) }).wait() == 0)
    let before = try tool.state(of: source)
    for name in ["m", "m-wal", "m-shm", "m-journal", "data/r"] {
      try expectFailure(
        tool, ["--report", tool.path(name), source, tool.store],
        "the report is a part of the source")
    }
    #expect(try tool.state(of: source) == before)
    for name in ["m-wal", "m-shm", "m-journal"] { unsafe unlink(tool.path(name)) }
    // Before the store is there, and then.
    for name in ["report", "store.json", "journal/00000001.log"] {
      let words = ["--report", "\(tool.store)/\(name)", source, tool.store]
      if name == "report" { try expectFailure(tool, words, "the report lies in the destination") }
      let contents = try tool.state(of: tool.store)
      try expectFailure(tool, words, "the report lies in the destination")
      #expect(try tool.state(of: tool.store) == contents)
    }
    #expect(try tool.migrate(["--report", tool.path("r"), source, tool.store]).status == 0)
  }

  @Test(arguments: ["/dev/stdout", "/dev/full", "fifo", "link", "folder"])
  func `a report that is no file`(name: String) throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    let path = name.hasPrefix("/") ? name : tool.path(name)
    for (program, words) in [
      ("/usr/bin/mkfifo", [tool.path("fifo")]), ("/bin/mkdir", [tool.path("folder")]),
      ("/bin/ln", ["-s", "target", tool.path("link")]),
    ] { #expect(try Child(program, words.map { Array($0.utf8) }).wait() == 0) }
    try expectFailure(
      tool, ["--report", path, source, tool.store],
      ", and a report is written to a file; name another one")
    #expect(!exists(tool.path("target")))
  }

  @Test func `what keeps a migration from beginning is in the JSON, too`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    for words in [
      [tool.path("none"), tool.store], ["--report", tool.path("none/r"), source, tool.store],
      ["--report", source, source, tool.store],
    ] {
      let result = try tool.migrate(["--json"] + words)
      #expect(result.status == 8)
      #expect(result.errors.hasPrefix("cachemigrate: "))
      #expect(result.lines.count == 1)
      #expect(result.text.hasPrefix("{\"type\":\"summary\","))
      #expect(result.text.contains("\"result\":\"failed\",\"status\":8,"))
      let message = result.errors.dropFirst("cachemigrate: ".count).dropLast()
      #expect(result.text.contains("\"error\":\"\(message)\"}"))
    }
  }

  @Test(arguments: ["gone", "cut", "empty"])
  func `a -wal that is gone or cut off is reported`(how: String) throws {
    let tool = ToolRun()
    let script = """
      import os, shutil, sqlite3, sys
      source, how = sys.argv[1:]
      c = sqlite3.connect(source + '.live')
      c.execute('PRAGMA journal_mode=WAL'); c.execute('PRAGMA wal_autocheckpoint=0')
      c.execute('''CREATE TABLE manifest(key text, filename text, size integer, inline_data blob,
        modification_time integer, last_access_time integer, extended_data blob, primary key(key))''')
      c.commit()
      c.execute('PRAGMA wal_checkpoint(TRUNCATE)')
      for n in range(9):
          c.execute("INSERT INTO manifest VALUES(?, NULL, 1, x'01', 1, 1, NULL)", ('http://h/%d' % n,))
          c.commit()
      for end in ['', '-wal', '-shm']: shutil.copy(source + '.live' + end, source + end)
      if how == 'cut': os.truncate(source + '-wal', os.path.getsize(source + '-wal') // 2)
      elif how != 'whole': os.remove(source + '-wal')
      if how == 'empty': os.remove(source + '-shm')
      """
    for how in [how, "whole"] {
      let source = tool.path(how)
      let words = ["/usr/bin/env", "python3", "-c", script, source, how]
      let made = try tool.run(program: words.map { Array($0.utf8) })
      try #require(made.status == 0, "\(made.errors)")
      let result = try tool.migrate(["--json", source, tool.path("to-\(how)")])
      #expect(result.status == 0)
      #expect(result.errors.contains("warning: ") == (how != "whole"))
      #expect(result.errors.contains("\(how)-wal") == (how != "whole"))
      #expect(result.text.contains("\"warnings\":[],") == (how == "whole"))
    }
  }

  @Test func `a report that cannot be written`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    try expectFailure(
      tool, ["--report", tool.path("none/report"), source, tool.store], "cannot be written")
  }

  @Test func `a store that neither destination nor report may be in`() throws {
    let tool = ToolRun()
    let (source, other) = (try tool.makeSource("m", rows: 1...2), tool.path("other"))
    try Store(at: other).close()
    let words = "this is in the folder of the store \(other), which"
    try expectFailure(tool, ["--report", "\(other)/report", source, tool.store], words)
    for option in ["--dry-run", "--keep-expired"] {
      try expectFailure(tool, [option, source, "\(other)/entries/new"], words)
    }
  }

  @Test func `a body that is longer than the limits allow is a fault, the others move`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...2)
    try tool.sql(
      source, "INSERT INTO manifest VALUES('http://h/', NULL, NULL, zeroblob(900000), 1, 1, NULL)")
    try Store(at: tool.store, options: Options(limits: Limits(entryBytes: 200_000))).close()
    for option in ["--dry-run", "--keep-expired"] {
      let result = try tool.migrate([option, "--json", source, tool.store])
      #expect(result.status == 1)
      #expect(result.text.contains("\"converted\":2,"))
      #expect(result.text.contains("\"skipped\":{\"entry_too_large\":1}"))
    }
  }

  @Test func `a plan counts the bytes that the store keeps free`() throws {
    let tool = ToolRun()
    let source = try tool.makeSource("m", rows: 1...3)
    try Store(at: tool.store).close()
    var volume = statvfs()
    try #require(unsafe statvfs(tool.store, &volume) == 0)
    let size = UInt64(volume.f_blocks) * UInt64(volume.f_frsize)
    let limits = Limits(freeBytes: size - 1)
    try Store(at: tool.store, options: Options(limits: limits)).close()
    let plan = try tool.migrate(["--dry-run", source, tool.store])
    #expect(plan.status == 1)
    #expect(plan.text.contains(" of which the store keeps free: NOT ENOUGH\n"))
    let json = try tool.migrate(["--dry-run", "--json", source, tool.store])
    #expect(json.text.contains("\"limit_free_bytes\":\(size - 1),"))
    #expect(try tool.migrate([source, tool.store]).status == 8)
  }

  @Test(.enabled(if: SmallVolume.canBeMade, "mount(8) is not allowed here"))
  func `a plan counts the inodes that are needed`() throws {
    let tool = ToolRun()
    let volume = try SmallVolume(at: tool.path("volume"), bytes: 64 << 20, files: 200)
    let source = try tool.makeSource("m", rows: 1...100)
    let plan = try tool.migrate(["--dry-run", source, "\(volume.path)/store"])
    #expect(plan.status == 1)
    #expect(plan.text.contains("MiB are free: enough\n"))
    #expect(plan.text.contains("at most 416 files and folders (inodes) are needed, "))
    #expect(plan.text.hasSuffix(" are free: NOT ENOUGH\n"))
  }

  @Test(.enabled(if: SmallVolume.canBeMade, "mount(8) is not allowed here"))
  func `a full disk ends it, what was converted is whole, and it goes on when there is room`()
    throws
  {
    let tool = ToolRun()
    let volume = try SmallVolume(at: tool.path("volume"), bytes: 4 << 20)
    let source = try tool.makeSource("m", rows: 1...100, bytes: 100_000)
    let target = "\(volume.path)/store"
    let plan = try tool.migrate(["--dry-run", source, target])
    #expect(plan.status == 1)
    #expect(plan.text.contains(" are free: NOT ENOUGH\n"))
    let result = try tool.migrate(["--json", source, target])
    #expect(result.status == 8)
    #expect(result.errors.hasSuffix(" rows; --resume goes on there)\n"))
    #expect(result.errors.contains("(after "))
    #expect(result.text.contains("\"source_rows\":100,\"rows\":"))
    #expect(!result.text.contains("\"rows\":100,"))
    #expect(result.text.contains("\"result\":\"failed\""))
    let store = try Store(at: target, options: Options(isReadOnly: true))
    let held = store.statistics.entries
    #expect(held > 10 && held < 100)
    for info in store.entries() {
      guard case .hit(let entry) = store.lookUp(info.key) else {
        Issue.record("\(info.key) is not whole")
        continue
      }
      #expect(entry.body.count == 100_000)
    }
    store.close()
    let again = try tool.migrate(["--resume", source, target])
    #expect(again.status == 8 && again.errors.hasSuffix(" rows; --resume goes on there)\n"))
    try volume.grow(to: 64 << 20)
    let rest = try tool.migrate(["--json", "--resume", source, target])
    #expect(rest.status == 0)
    #expect(rest.errors == "")
    #expect(rest.text.contains("\"rows\":100,\"earlier_rows\":\(held),\"converted\":100,"))
  }
}
