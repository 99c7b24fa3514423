import CLibrary
import LoopbackOrigin
import Testing
import ToolTesting

@Suite struct DownloadCommandTests {
  private static let tag = "ETag: \"1\""

  private func page(_ text: String, _ fields: String...) -> OriginAnswer {
    OriginAnswer(text, fields: fields.isEmpty ? [Self.tag] : fields)
  }

  @Test func `a file comes once, and is confirmed or used after that`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a/b%20c.txt?d", page("hello"))
    let (url, folder) = ("\(origin.base)/a/b%20c.txt?d", tool.path("new/folder"))
    let first = try tool.run("download", url, "--output-dir", folder)
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.text == "done          5 B  \(folder)/b c.txt  \(url)\n")
    #expect(try tool.read("\(folder)/b c.txt") == Array("hello".utf8))
    origin.set("/a/b%20c.txt?d", OriginAnswer(status: 304, fields: [Self.tag]))
    let second = try tool.run(
      "download", url, "--output-dir", folder, "--expires", "1000", "--sliding")
    #expect(second.text == "valid         5 B  \(folder)/b c.txt  \(url)\n")
    origin.stop()
    let third = try tool.run("download", url, "--output-dir", folder)
    #expect(third.text == "had           5 B  \(folder)/b c.txt  \(url)\n")
  }

  @Test func `a failure does not stop the rest, and is reported`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("a"))
    let run = try tool.run(
      "download", "\(origin.base)/none", "\(origin.base)/a", "--output-dir", tool.path("f"))
    #expect(run.status == 1)
    #expect(run.lines.count == 1)
    #expect(run.errors.contains("\(origin.base)/none: the server answers 404"))
    let quiet = try tool.run("download", "-q", "\(origin.base)/a", "--output-dir", tool.path("f"))
    #expect(quiet.status == 0 && quiet.text == "" && quiet.errors == "")
    let down = try tool.run("download", "http://127.0.0.1:1/a", "--retries", "0")
    #expect(down.status == 2)
    #expect(!down.errors.contains("trying again"))
    let twice = try tool.run("download", "http://127.0.0.1:1/a", "--retries", "1")
    #expect(twice.errors.contains("trying again: http://127.0.0.1:1/a: ") && twice.status == 2)
  }

  @Test func `lengths that no sum holds stop nothing`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    for name in ["/1", "/2", "/3"] {
      origin.set(name, OriginAnswer([1], fields: [Self.tag], claimedLength: .max))
    }
    origin.set("/a", page("a"))
    let run = try tool.run(
      "download", "\(origin.base)/1", "\(origin.base)/2", "\(origin.base)/3", "\(origin.base)/a",
      "--retries", "0", "--output-dir", tool.path("f"))
    #expect(run.status == 2 && run.lines.count == 1)
    #expect(try tool.read(tool.path("f/a")) == [0x61])
  }

  @Test(.enabled(if: geteuid() == 0, "another user's files are needed"))
  func `a folder is not a link that another user has planted`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("a"))
    let (shared, victim) = (tool.path("shared"), tool.path("victim"))
    // Safety: the paths are passed as zero-terminated copies that live during the calls.
    for path in [shared, victim] { unsafe #expect(mkdir(path, 0o700) == 0) }
    try makeLink("\(shared)/f", to: victim)
    unsafe #expect(lchown("\(shared)/f", 65_534, 65_534) == 0)
    unsafe #expect(chmod(shared, 0o1777) == 0)
    let run = try tool.run("download", "\(origin.base)/a", "--output-dir", "\(shared)/f")
    #expect(run.status == 2 && run.errors.contains("\(shared)/f belongs to another user"))
    #expect(try names(in: victim).isEmpty)
  }

  @Test func `a digest is that of the file that is named`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let folder = tool.path("f")
    origin.set("/other", OriginAnswer([1], fields: [Self.tag], claimedLength: 5))
    _ = try tool.run("download", "--retries", "0", "\(origin.base)/other", "--output-dir", folder)
    origin.set("/other", page("other"))
    origin.set("/a", page("hello"))
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let run = try tool.run(
      "download", "\(origin.base)/a", "--sha256", digest, "--resume", "--output-dir", folder)
    #expect(run.status == 0 && run.lines.count == 2, "\(run.errors)")
    #expect(try tool.read("\(folder)/other") == Array("other".utf8))
  }

  @Test func `a file of one's own stays, unless it may be replaced`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("new"))
    let (url, folder) = ("\(origin.base)/a", tool.path("f"))
    _ = try tool.run("download", "\(origin.base)/none", "--output-dir", folder)
    try tool.write(Array("mine".utf8), to: "\(folder)/a")
    let kept = try tool.run("download", url, "--output-dir", folder)
    #expect(
      kept.status == 2 && kept.errors.contains("a file is there that did not come from \(url)"))
    #expect(kept.errors.contains("--restart"))
    let wrong = try tool.run("download", url, "--output-dir", "\(folder)/a")
    #expect(wrong.status == 2 && wrong.errors.contains("--output-dir names a folder"))
    #expect(try tool.read("\(folder)/a") == Array("mine".utf8))
    #expect(try tool.run("download", "--restart", url, "--output-dir", folder).status == 0)
    #expect(try tool.read("\(folder)/a") == Array("new".utf8))
  }

  @Test func `an interrupted replacement is resumed`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let (url, folder) = ("\(origin.base)/a", tool.path("f"))
    origin.set("/a", page("old"))
    _ = try tool.run("download", url, "--expires", "7d", "--output-dir", folder)
    origin.set("/a", OriginAnswer([1], fields: ["ETag: \"2\""], claimedLength: 9))
    #expect(
      try tool.run("download", "--restart", "--retries", "0", url, "--output-dir", folder).status
        == 2)
    origin.set("/a", page("new", "ETag: \"2\""))
    #expect(try tool.run("download", "--resume", "--output-dir", folder).text.hasPrefix("done "))
    #expect(try tool.read("\(folder)/a") == Array("new".utf8))
  }

  @Test func `a line of a list that is no URL does not stop the others`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("hello"))
    let list = "\u{FEFF}ftp://x/\n  \(origin.base)/a \t\r\n# none\nhttp://u:secret@h/b\n"
    try tool.write(Array(list.utf8), to: tool.path("list"))
    let result = try tool.run(
      "download", "--urls-from", tool.path("list"), "--output-dir", tool.path("f"))
    #expect(result.status == 2)
    #expect(result.text.hasPrefix("done "))
    #expect(try tool.read(tool.path("f/a")) == Array("hello".utf8))
    #expect(result.errors.contains("ftp://x/: the scheme is not supported"))
    #expect(result.errors.contains("http://h/b: a URL with a name or password is refused"))
    #expect(!result.errors.contains("secret"))
  }

  @Test func `a folder to go on in has to be there`() throws {
    let tool = ToolRun()
    let result = try tool.run("download", "--resume", "--output-dir", tool.path("none"))
    #expect(result.status == 2)
    #expect(result.errors.contains("none: "), "\(result.errors)")
    #expect(try tool.run("download", "--resume", "--output-dir", tool.path("none")).status == 2)
  }

  @Test func `a digest is looked at`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let good = try tool.run(
      "download", "\(origin.base)/a", "--output-dir", tool.path("f"), "--sha256", right)
    #expect(good.status == 0, "\(good.errors)")
    let wrong = "0cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let bad = try tool.run(
      "download", "\(origin.base)/a", "--output-dir", tool.path("g"), "--sha256", wrong)
    #expect(bad.status == 2)
    #expect(bad.errors.contains(right) && bad.errors.contains(wrong))
  }

  @Test func `one that was interrupted is found in its folder`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    var cut = page("hel", Self.tag, "Last-Modified: Fri, 15 Jan 2021 08:00:00 GMT")
    cut.claimedLength = 5
    origin.set("/a", cut)
    let folder = tool.path("f")
    let first = try tool.run(
      "download", "\(origin.base)/a", "--output-dir", folder, "--retries", "0")
    #expect(first.status == 2)
    var rest = page("lo", Self.tag, "Content-Range: bytes 3-4/5")
    rest.status = 206
    origin.set("/a", rest)
    let second = try tool.run("download", "--resume", "--output-dir", folder)
    #expect(second.status == 0, "\(second.errors)")
    #expect(try tool.read("\(folder)/a") == Array("hello".utf8))
    let third = try tool.run("download", "--resume", "--output-dir", folder)
    #expect(third.status == 0 && third.text == "")
    #expect(third.errors.contains("nothing was interrupted in '\(folder)'"))
    origin.set("/a", page("other", "ETag: \"2\""))
    let again = try tool.run("download", "--restart", "\(origin.base)/a", "--output-dir", folder)
    #expect(again.lines.first?.hasPrefix("done") == true)
    #expect(try tool.read("\(folder)/a") == Array("other".utf8))
  }

  @Test(arguments: [
    ["download"], ["download", "--sliding", "http://x/a"], ["download", "ftp://x/a"],
    ["download", "http://x/a", "http://y/a"], ["download", "--resume", "--restart"],
    ["download", "--sha256", "12", "http://x/a"], ["download", "--expires", "soon", "http://x/a"],
    ["check"],
  ])
  func `what cannot be meant is a usage error`(arguments: [String]) throws {
    let run = try ToolRun().run(bytes: arguments.map { Array($0.utf8) })
    #expect(run.status == 64, "\(run.errors)")
    #expect(!run.errors.isEmpty)
  }

  @Test func `a server that says nothing is given up`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer([1], claimedLength: 9, hangs: true))
    let url = "\(origin.base)/a"
    for words in [
      ["fetch", url], ["download", url, "--retries", "0", "--output-dir", tool.path("f")],
    ] {
      let run = try tool.run(bytes: (words + ["--timeout", "1s"]).map { Array($0.utf8) })
      #expect(run.status == 2 && run.errors.contains("no byte came"), "\(run.errors)")
    }
  }

  @Test func `fields of the command line go along`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    let (url, token) = ("\(origin.base)/a", "Authorization: Bearer x")
    for words in [
      ["fetch", url], ["download", url, "--output-dir", tool.path("f")], ["check", url],
    ] {
      let run = try tool.run(bytes: (words + ["-H", token]).map { Array($0.utf8) })
      #expect(run.status == 0 || words[0] == "check", "\(words): \(run.errors)")
      #expect(origin.requests.last?.lines.contains("Authorization: Bearer x") == true)
    }
    // What came with one credential is not there without it.
    #expect(try tool.run("fetch", "--offline", url, "-o", "-").status == 1)
    #expect(try tool.run("fetch", "--offline", url, "-o", "-", "-H", token).text == "hello")
    #expect(try tool.run("fetch", url, "-H", "no field").status == 64)
  }

  @Test func `passwords in a URL are refused, and not shown`() throws {
    for command in ["download", "check"] {
      let run = try ToolRun().run(command, "http://me:secret@127.0.0.1:1/a")
      #expect(run.status == 64)
      #expect(!run.errors.contains("secret"))
    }
  }

  @Test func `what was checked before Ctrl-C is reported`() async throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let (a, b) = ("\(origin.base)/a", "\(origin.base)/b")
    for target in ["/a", "/b"] { origin.set(target, page("hello")) }
    _ = try tool.run("fetch", a, b)
    origin.set("/a", OriginAnswer(status: 304, fields: [Self.tag]))
    origin.set("/b", .silence)
    let input = try openFile("/dev/null", O_RDONLY)
    defer { close(input) }
    let count = origin.requests.count
    let words = ["check", a, b, "--timeout", "1h"].map { Array($0.utf8) }
    let running = try tool.start(words, input: input)
    while origin.requests.count < count + 2 { await Task.yield() }
    running.child.send(SIGINT)
    let result = try running.finish()
    #expect(result.status == 130 && result.errors == "")
    #expect(result.text == "current  \(a)\n")
  }

  @Test func `downloads end when nobody reads the report`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    origin.set("/b", OriginAnswer([1], claimedLength: 9, hangs: true))
    let pipe = try Pipe()
    close(pipe.reader)
    let input = try openFile("/dev/null", O_RDONLY)
    defer { close(input) }
    let words = [
      "download", "\(origin.base)/a", "\(origin.base)/b", "--output-dir", tool.path("f"),
    ]
    let running = try tool.start(
      (words + ["--timeout", "20s", "--retries", "0"]).map { Array($0.utf8) }, input: input,
      output: pipe.writer)
    close(pipe.writer)
    let result = try running.finish()
    #expect(result.errors == "")
    #expect(result.status == 141)
  }

  @Test func `check compares with the store, or with a folder, and changes nothing`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let (url, folder) = ("\(origin.base)/a", tool.path("f"))
    origin.set("/a", page("hello"))
    _ = try tool.run("fetch", url)
    _ = try tool.run("download", url, "--output-dir", folder)
    for place in [[], ["--output-dir", folder]] {
      let words = (["check", url] + place).map { Array($0.utf8) }
      origin.set("/a", OriginAnswer(status: 304, fields: [Self.tag]))
      let same = try tool.run(bytes: words)
      #expect(same.status == 0 && same.text == "current  \(url)\n", "\(same.errors)")
      origin.set("/a", OriginAnswer(fields: ["ETag: \"2\""]))
      let changed = try tool.run(bytes: words)
      #expect(changed.status == 1 && changed.text == "changed  \(url)\n")
      let other = (["check", "\(origin.base)/b"] + place).map { Array($0.utf8) }
      #expect(try tool.run(bytes: other).text == "missing  \(origin.base)/b\n")
    }
    origin.set("/a", OriginAnswer(status: 401))
    let refused = try tool.run("check", url)
    #expect(refused.status == 1 && refused.text == "refused  \(url)\n")
    #expect(refused.errors.contains("401"))
    origin.stop()
    #expect(try tool.run("check", url).status == 2)
    #expect(try tool.run("fetch", "--offline", url, "-o", "-").text == "hello")
    #expect(try tool.read("\(folder)/a") == Array("hello".utf8))
  }
}
