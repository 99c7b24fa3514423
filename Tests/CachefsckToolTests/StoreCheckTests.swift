import CLibrary
import CacheFormat
import CacheStore
import CacheSystem
import StoreChecking
import Testing
import ToolTesting

@Suite struct StoreCheckTests {
  @Test func `a whole store is clean and stays as it is`() throws {
    let tool = ToolRun()
    try tool.fill(30)
    let before = try tool.listing()
    for words in [[], ["--deep"], ["--deep", "--jobs", "1"], ["--repair", "all", "--dry-run"]] {
      let result = try tool.check(words + [tool.store])
      #expect(result.status == 0)
      #expect(result.errors == "")
      #expect(result.lines[0].hasPrefix("\(tool.store): clean ("))
      #expect(result.lines[1] == "entries         30" || result.lines[1].hasSuffix(" 30"))
    }
    #expect(try tool.listing() == before)
    #expect(try names(in: tool.folder).isSuperset(of: ["store"]))
    #expect(!exists("\(tool.stateHome)/offlinecache"))
  }

  @Test func `only a deep check sees bytes that have changed`() throws {
    let tool = ToolRun()
    try tool.fill(3)
    try tool.shell("for b in \"$0\"/entries/*/*/*.body; do printf X > \"$b\"; break; done")
    let quick = try tool.check([tool.store])
    #expect(quick.status == 0)
    #expect(quick.text.contains("The bodies were not read; --deep does that."))
    let deep = try tool.check(["--deep", tool.store])
    #expect(deep.status == 4)
    #expect(deep.text.contains("\ndamage body-wrong: ") || deep.text.hasPrefix("damage body-wrong"))
    #expect(deep.text.contains("(key k"))
    #expect(deep.text.contains("1 finding, 0 repaired, 1 left"))

    let repair = try tool.check(["--deep", "--repair", "all", tool.store])
    #expect(repair.text.contains("): the entry is lost\n"))
    #expect(repair.text.contains("1 entry was lost: nothing could restore it."))
  }

  @Test func `an entry whose body in the journal has changed is named, and lost`() throws {
    let tool = ToolRun()
    let store = try Store(at: tool.store, options: Options(settling: .within(seconds: 3600)))
    try store.put(Array(repeating: 0x61, count: 3000), for: "kept")
    try store.put(Array(repeating: 0x62, count: 3000), for: "changed")
    // As if the process were killed.
    try tool.shell("cp -a \"$0\" \"$0\"-copy; sed -i s/bbbb/bbxb/ \"$0\"-copy/journal/00000001.log")
    store.close()
    let copy = tool.store + "-copy"
    let repair = try tool.check(["--deep", "--repair", "all", "--json", copy])
    #expect(repair.text.contains("\"kind\":\"body-wrong\""))
    #expect(repair.text.contains("\"key\":\"changed\""))
    #expect(repair.text.contains("\"outcome\":\"repaired\",\"lost_entries\":1"))
    #expect(repair.text.contains("\"lost_entries\":1"))
    #expect(try tool.check(["--deep", copy]).status == 0)
  }

  @Test func `a whole store of another mode or a wrong clock is clean`() throws {
    let tool = ToolRun()
    try tool.shell("mkdir \"$0\"; chmod 755 \"$0\"")
    let clock = TestClock(SystemClock().now() + 172_800_000_000_000)
    let store = try Store(at: tool.store, options: Options(clock: clock))
    try store.put([1], for: "a")
    store.close()
    for words in [[], ["--repair", "all"]] {
      let result = try tool.check(words + [tool.store])
      #expect(result.status == 0)
      #expect(result.lines.contains { $0.hasPrefix("\(tool.store): clean, 1 note (") })
    }
    let json = try tool.check(["--json", tool.store])
    #expect(json.status == 0)
    #expect(json.text.contains("\"result\":\"clean\",\"status\":0,\"found\":0,"))
  }

  @Test func `a repair that leaves nothing exits with 1, and the next check with 0`() throws {
    for damage in [
      "for s in \"$0\"/journal/*.log; do : > \"$s\"; done; "
        + "for b in \"$0\"/entries/*/*/*.body; do printf X > \"$b\"; break; done",
      "mkdir \"$0\"/journal/new; touch \"$0\"/journal/new/x",
      "for k in \"$0\"/entries/*/*; do cp -a \"$k\" \"${k%??}zz\"; break; done",
      "for k in \"$0\"/entries/*/*; do mv \"$k\" \"${k}x\"; break; done",
    ] {
      let tool = ToolRun()
      try tool.fill(5)
      try tool.shell(damage)
      #expect(try tool.check(["--deep", tool.store]).status == 4, "\(damage)")
      #expect(try tool.check(["--repair", "all", tool.store]).status == 1, "\(damage)")
      #expect(try tool.check(["--deep", tool.store]).status == 0, "\(damage)")
    }
  }

  @Test func `a dry run of a safe repair says which bodies it would restore`() throws {
    let tool = ToolRun()
    let store = try Store(at: tool.store, options: Options(settling: .atOnce))
    let shared = [UInt8](repeating: 7, count: 6_000)
    for key in ["a", "b"] as [ByteString] { try store.put(shared, for: key) }
    try store.put([UInt8](repeating: 8, count: 70_000), for: "alone")
    store.close()
    try tool.shell(
      "find \"$0\"/entries -name '*.body' -size -20k | head -n 1 | xargs rm; "
        + "find \"$0\"/entries -name '*.body' -size +20k | xargs rm")
    let words = ["--repair", "safe", "--dry-run", tool.store]
    let dry = try tool.check(words)
    #expect(dry.status == 4)
    #expect(dry.lines.filter { $0.hasSuffix(": would be repaired") }.count == 1)
    #expect(dry.lines.filter { $0.hasSuffix(": left") }.count == 1)
    #expect(dry.text.contains(": 2 findings, 1 would be repaired, 1 left ("))
    let json = try tool.check(["--json"] + words)
    #expect(json.lines.filter { $0.contains("\"outcome\":\"would-repair\"") }.count == 1)
    #expect(json.lines.filter { $0.contains("\"outcome\":\"left\"") }.count == 1)
    let repair = try tool.check(["--repair", "safe", tool.store])
    #expect(repair.text.contains(": 2 findings, 1 repaired, 1 left ("))
  }

  @Test func `a dry run says what would be repaired and writes nothing`() throws {
    let tool = ToolRun()
    try tool.fill(3)
    try tool.shell("chmod 666 \"$0\"/lock; rm \"$0\"/CACHEDIR.TAG; touch \"$0\"/entries/stray")
    let before = try tool.listing()
    let result = try tool.check(["--repair", "safe", "--dry-run", tool.store])
    #expect(result.status == 4)
    #expect(result.lines.filter { $0.hasSuffix(": would be repaired") }.count == 2)
    #expect(result.lines.filter { $0.hasSuffix(": left") }.count == 1)
    let json = try tool.check(["--repair", "all", "--dry-run", "--json", tool.store])
    #expect(json.status == 4)
    #expect(json.lines.filter { $0.contains("\"outcome\":\"would-repair\"") }.count == 3)
    #expect(try tool.listing() == before)
  }

  @Test func `json is one object a line and ends with the summary`() throws {
    let tool = ToolRun()
    try tool.fill(3)
    try tool.shell("printf x > \"$0\"/entries/\"$(printf 'a\\033[2J\\377')\"")
    let result = try tool.check(["--json", tool.store])
    #expect(result.status == 4)
    #expect(result.errors == "")
    try #require(result.lines.count == 2)
    #expect(
      result.lines[0].hasPrefix(
        "{\"type\":\"finding\",\"store\":\"\(tool.store)\",\"kind\":\"foreign-file\","
          + "\"severity\":\"note\",\"path\":\"entries/a\\u001b[2J\u{FFFD}\","
          + "\"path_hex\":\"656e74726965732f611b5b324aff\",\"key\":null,"))
    #expect(
      result.lines[0].hasSuffix(
        "\"outcome\":\"left\",\"lost_entries\":0,\"repaired_by\":\"all\"}"))
    #expect(result.lines[1].hasPrefix("{\"type\":\"summary\",\"store\":\"\(tool.store)\","))
    for member in [
      "\"depth\":\"quick\"", "\"repair\":null", "\"result\":\"left\"", "\"status\":4",
      "\"found\":1", "\"findings\":{\"foreign-file\":{\"found\":1,\"repaired\":0}}",
      "\"entries\":3", "\"partial_cause\":null", "\"error\":null",
    ] {
      #expect(result.lines[1].contains(member), "\(member)")
    }
  }

  @Test func `each of several stores is checked and the statuses are or-ed`() throws {
    let (tool, other) = (ToolRun(), ToolRun())
    try tool.fill(3)
    try other.fill(2)
    try tool.shell("touch \"$0\"/stray")
    let missing = tool.path("missing")
    let result = try tool.check([missing, tool.store, other.store])
    #expect(result.status == 12)
    #expect(result.errors.hasPrefix("cachefsck: \(missing): there is nothing; "))
    #expect(result.lines.contains { $0.hasPrefix("\(tool.store): 1 finding, ") })
    #expect(result.lines.contains { $0.hasPrefix("\(other.store): clean ") })
  }

  @Test func `what is no store is an error with path, cause and remedy`() throws {
    let tool = ToolRun()
    try tool.write([1], to: tool.path("file"))
    try tool.shell("mkdir \"$0\" \"$0\"/empty")
    for (path, cause) in [
      (tool.path("none"), "there is nothing"), (tool.path("file"), "it is no folder"),
      ("\(tool.store)/empty", "the folder is empty"), (tool.store, "the folder is no store"),
    ] {
      let result = try tool.check([path])
      #expect(result.status == 8)
      #expect(result.output == [])
      #expect(result.errors.hasPrefix("cachefsck: \(path): \(cause); "))
    }
    let bytes: [UInt8] = Array(tool.folder.utf8) + [0x2F, 0xFF, 0x1B]
    let result = try tool.run(program: tool.checkWords([bytes]))
    #expect(result.status == 8)
    #expect(
      result.errors == "cachefsck: \(tool.folder)/\\xff\\x1b: the path is not UTF-8; "
        + "go into the folder and name it '.'\n")
  }

  @Test func `a newer format is left alone`() throws {
    let tool = ToolRun()
    try tool.fill(1)
    try tool.makeNewer()
    let before = try tool.listing()
    for words in [[], ["--repair", "all"]] {
      let result = try tool.check(words + [tool.store])
      #expect(result.status == 8)
      #expect(result.errors.hasPrefix("cachefsck: \(tool.store)/store.json: "))
      #expect(result.errors.hasSuffix("use a newer version of OfflineCache\n"))
    }
    #expect(try tool.listing() == before)
  }

  @Test(.enabled(if: geteuid() == 0, "files of another user are needed"))
  func `a store of another user is not repaired, also not by root`() throws {
    let tool = ToolRun()
    try tool.fill(3)
    try tool.shell("chown -R 1 \"$0\"; rm \"$0\"/lock \"$0\"/store.json")
    let before = try tool.listing()
    for words in [["--repair", "safe"], ["--repair", "all", "--quick"]] {
      let result = try tool.check(words + [tool.store])
      #expect(result.status == 8)
      #expect(
        result.errors == "cachefsck: \(tool.store): it belongs to user 1; run as that user\n")
    }
    #expect(try tool.listing() == before)
  }

  @Test func `progress that is asked for is lines where there is no terminal`() throws {
    let tool = ToolRun()
    try tool.fill(3)
    let shown = try tool.check(["--deep", "--progress", tool.store])
    #expect(shown.status == 0)
    #expect(shown.errors.hasSuffix("\n"))
    #expect(!shown.errors.contains("\u{1B}"))
    #expect(try tool.check(["--deep", "--no-progress", tool.store]).errors == "")
  }
}
