import CLibrary
import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(5))) struct FailuresTests {
  @Test(
    arguments: [
      [], ["gett", "k"], ["get"], ["get", ""], ["get", "a", "b"], ["put", "k"], ["rm"],
      ["rm", "k", "--all"], ["rm", "--all", "--tag", "t"], ["trim"], ["trim", "--bytes", "many"],
      ["ls", "--long", "--json"], ["ls", "--sort", "name"], ["get", "k", "--variant", "xyz"],
      ["put", "k", "-", "--field", "no colon"], ["put", "k", "-", "--field", "a b: c"],
      ["put", "k", "-", "--status", "0"], ["put", "k", "-", "--info", "no colon"], ["fetch"],
      ["limit", "--bytes", "-1"], ["limit", "--bytes", "1.5"], ["limit", "--entries", "1.5"],
      ["fetch", "--urls-from", "a", "--urls-from", "b"], ["rm", "--prefix", ""],
      ["remote", "purge", "--prefix", ""], ["remote", "purge", "--prefix", "GET http://a/"],
      ["remote", "purge", "--prefix", "foo"], ["remote", "purge", "a"],
      ["remote", "check", "--remote", "a"],
      ["serve", "--tunnel-idle", "0"],
    ])
  func `a wrong command line ends with 64 and makes no store`(words: [String]) throws {
    let tool = ToolRun()
    let result = try tool.run(bytes: words.map { Array($0.utf8) })
    #expect(result.status == 64)
    #expect(result.output == [])
    #expect(result.errors.hasPrefix("offlinecache"))
    #expect(result.errors.contains("; "))
    #expect(!exists(tool.store))
  }

  @Test(
    arguments: [
      ["ls"], ["get", "k"], ["show", "k"], ["stats"], ["limit"], ["rm", "k"], ["pin", "k"],
      ["trim", "--bytes", "0"],
    ])
  func `a store that is missing is named and not made`(words: [String]) throws {
    let tool = ToolRun()
    let result = try tool.run(bytes: words.map { Array($0.utf8) })
    #expect(result.status == 2)
    #expect(result.output == [])
    #expect(result.errors.hasPrefix("offlinecache: \(tool.store): "))
    #expect(!exists(tool.store))
  }

  @Test(arguments: [["stats"], ["fetch", "http://localhost:1/"]])
  func `a process that may open too few files says so`(words: [String]) throws {
    let tool = ToolRun()
    let program = ["/bin/sh", "-c", "ulimit -n 14; exec \"$@\"", "sh", try ToolRun.executable()]
    let result = try tool.run(
      program: (program + ["--store", tool.store] + words).map { Array($0.utf8) })
    #expect(result.status == 2)
    #expect(
      result.errors == "offlinecache: this process may have 14 files open, which is too few; "
        + "allow 64 or more (ulimit -n)\n")
  }

  @Test func `a file where the store should be is left alone`() throws {
    let tool = ToolRun()
    try tool.write([1, 2, 3], to: tool.store)
    let result = try tool.run("put", "k", "-", input: [4])
    #expect(result.status == 2)
    #expect(result.errors.contains(tool.store))
    #expect(try tool.read(tool.store) == [1, 2, 3])
  }

  @Test func `a source that cannot be read stores nothing`() throws {
    let tool = ToolRun()
    let missing = try tool.run("put", "k", tool.path("missing"))
    #expect(missing.status == 2)
    #expect(
      missing.errors == "offlinecache: \(tool.path("missing")): cannot be read: "
        + "No such file or directory; check the path\n")
    let folder = try tool.run("put", "k", tool.folder)
    #expect(folder.status == 2)
    #expect(folder.errors.hasSuffix("Is a directory; name a file\n"))
    #expect(try tool.run("put", "other", "-").status == 0)
    #expect(try tool.run("get", "k").status == 1)
  }

  @Test func `a target that cannot be written is named`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let target = tool.path("no/such/folder")
    let get = try tool.run("get", "k", "-o", target)
    #expect(get.status == 2)
    #expect(
      get.errors == "offlinecache: \(target): cannot be written: No such file or directory; "
        + "create the folder first\n")
  }

  @Test func `what is no regular file is written in place`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let (source, link) = (tool.path("source"), tool.path("link"))
    try tool.write([9], to: source)
    try makeLink(link, to: source)
    #expect(try tool.run("get", "k", "-o", link).status == 0)
    #expect(try tool.read(source) == [1])
    #expect(try tool.run("get", "k", "-o", "/dev/null").status == 0)
    #expect(isDevice("/dev/null"))
  }

  @Test func `a name that is no text is escaped once in messages`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let name = Array("\(tool.folder)/a\\b".utf8) + [0xFF, 0x2F]
    for words in ["put k", "get k -o", "check http://h/ --output-dir", "ls --store"] {
      let tokens = [try ToolRun.executable()] + words.split(separator: " ").map(String.init)
      let program = ["/usr/bin/env", "OFFLINECACHE_STORE=\(tool.store)"] + tokens
      let result = try tool.run(program: program.map { Array($0.utf8) } + [name])
      #expect(result.errors.contains("\(tool.folder)/a\\\\b\\xff"), "\(result.errors)")
    }
  }

  @Test func `an output nobody reads ends quietly with 141`() throws {
    let tool = ToolRun()
    let body = [UInt8](repeating: 1, count: 1_000_000)
    #expect(try tool.run("put", "k", "-", input: body).status == 0)
    let pipe = try Pipe()
    close(pipe.reader)
    defer { close(pipe.writer) }
    let running = try tool.start(
      ["get", "k"].map { Array($0.utf8) }, input: 0, output: pipe.writer)
    let result = try running.finish()
    #expect(result.status == 141)
    #expect(result.errors == "")
  }

  @Test func `closed standard descriptors never become files of the store`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1, 2, 3]).status == 0)
    // Both get and the miss write to a number that no file may have got, and put reads from one.
    for (words, status) in [("get k", 2), ("get missing", 1), ("put other -", 2)]
      as [(String, Int32)]
    {
      let shell = "exec \"$0\" --store \"$1\" \(words) <&- >&- 2>&-"
      let words = ["-c", shell, try ToolRun.executable(), tool.store].map { Array($0.utf8) }
      #expect(try Child("/bin/sh", words).wait() == status)
    }
    #expect(try tool.run("get", "k").output == [1, 2, 3])
    #expect(try tool.run("ls").lines == ["k"])
  }

  @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/fd/5"])
  func `the name of an open descriptor writes to it, and replaces no file`(name: String) throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: Array("body\n".utf8)).status == 0)
    let target = tool.path("out")
    let shell = """
      { echo before; "$0" --store "$1" get k -o "$2" 5>&1; echo after; } > "$3"
      """
    let words = ["-c", shell, try ToolRun.executable(), tool.store, name, target]
    #expect(try Child("/bin/sh", words.map { Array($0.utf8) }).wait() == 0)
    #expect(try tool.read(target) == Array("before\nbody\nafter\n".utf8))
    #expect(try tool.run("get", "k", "-o", "/dev/fd/99").status == 2)
  }

  @Test(
    arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129), (SIGQUIT, 131)] as [(Int32, Int32)])
  func `an interrupted put keeps what was there`(signal: Int32, status: Int32) throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let pipe = try Pipe()
    defer { close(pipe.reader) }
    defer { close(pipe.writer) }
    let running = try tool.start(["put", "k", "-"].map { Array($0.utf8) }, input: pipe.reader)
    try writeAll([2, 2, 2], to: pipe.writer)
    // Once it has read, it watches for signals.
    try running.child.wait { try pipe.waitingBytes == 0 }
    running.child.send(signal)
    let result = try running.finish()
    #expect(result.status == status)
    #expect(result.errors == "")
    #expect(try tool.run("get", "k").output == [1])
    #expect(try tool.run("ls").lines == ["k"])
  }

  @Test(arguments: [
    (["stats"], [0, 2, 64, 130, 141]), (["limit"], [0, 2, 64, 130, 141]),
    (["settle"], [0, 2, 64, 130]),
    (["trim"], [0, 2, 64, 130]), (["serve"], [0, 2, 64, 130]), (["get"], [0, 1, 2, 64, 130, 141]),
    (["ca", "create"], [0, 2, 64, 130]), (["reachability"], [0, 1, 2, 3, 64, 130, 141]),
  ])
  func `help lists the statuses that a command can end with`(words: [String], all: [Int]) throws {
    let lines = try ToolRun().run(bytes: (words + ["--help"]).map { Array($0.utf8) }).lines
    let statuses = lines.drop { $0 != "Exit status:" }.compactMap { line in
      line.hasPrefix("  ") ? Int(line.dropFirst(2).prefix { $0.isNumber }) : nil
    }
    #expect(statuses == all)
  }

  @Test func `help and version go to standard output`() throws {
    let tool = ToolRun()
    let help = try tool.run("--help")
    #expect(help.status == 0)
    #expect(help.errors == "")
    for verb in [
      "fetch", "put", "get", "show", "ls", "rm", "pin", "unpin", "trim", "limit", "stats",
    ] {
      #expect(help.text.contains("\n  \(verb) "))
      let page = try tool.run(verb, "--help")
      #expect(page.status == 0)
      #expect(page.text.contains("Usage: offlinecache \(verb) "))
    }
    #expect(try tool.run("--version").text == "offlinecache 0.1.0\n")
  }
}
