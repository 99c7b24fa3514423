import CLibrary
import LoopbackOrigin
import Testing
import ToolTesting

@Suite struct FetchCommandTests {
  private func page(_ text: String) -> OriginAnswer { OriginAnswer(text) }

  @Test func `a page that was fetched is there without a server`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    origin.set("/a", page("hello"))
    let first = try tool.run("fetch", "\(origin.base)/a", "-o", "-")
    #expect(first.status == 0)
    #expect(first.text == "hello")
    #expect(first.errors == "")
    origin.stop()
    let file = tool.path("page")
    let second = try tool.run("fetch", "--offline", "\(origin.base)/a", "-o", file)
    #expect(second.status == 0)
    #expect(second.text == "hit     200          5 B  \(origin.base)/a\n")
    #expect(try tool.read(file) == Array("hello".utf8))
    #expect(origin.requests.count == 1)
    #expect(try tool.run("ls").lines == ["GET \(origin.base)/a"])
  }

  @Test func `a body goes to a file or into a folder`() throws {
    let run = try ToolRun().run("fetch", "http://localhost:1/", "-o", "a", "--output-dir", "b")
    #expect(run.status == 64)
    #expect(run.errors.contains("--output and --output-dir exclude each other; choose one of them"))
  }

  @Test(.enabled(if: SmallVolume.canBeMade, "mount(8) is not allowed here"))
  func `a store that cannot be written serves what is fresh`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let volume = try SmallVolume(at: tool.store, bytes: 4 << 20)
    origin.set("/a", OriginAnswer("hello", fields: ["Cache-Control: max-age=1000"]))
    origin.set("/b", page("new"))
    let (a, b) = ("\(origin.base)/a", "\(origin.base)/b")
    #expect(try tool.run("fetch", a).status == 0)
    try volume.makeReadOnly()
    let fresh = try tool.run("fetch", a, "-o", "-")
    #expect(fresh.status == 0 && fresh.text == "hello" && fresh.errors == "")
    #expect(origin.requests.count == 1)
    let new = try tool.run("fetch", b, "-o", tool.path("new"))
    #expect(new.status == 2)
    #expect(
      new.errors.hasPrefix(
        "offlinecache: \(b): it was fetched but not stored: \(volume.path)/lock: Read-only"))
    #expect(try tool.read(tool.path("new")) == Array("new".utf8))
    let other = try SmallVolume(at: tool.path("other"), bytes: 1 << 20)
    try other.makeReadOnly()
    let words = [try ToolRun.executable(), "--store", "\(other.path)/none", "fetch", a]
    let missing = try tool.run(program: words.map { Array($0.utf8) })
    #expect(missing.status == 2)
    #expect(missing.errors.contains("/none: Read-only file system; choose a store "))
  }

  @Test func `a redirect and a page that is gone are there without a server`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    origin.set("/start", OriginAnswer(status: 302, fields: ["Location: /page"]))
    origin.set("/page", page("hello"))
    origin.set("/secret", OriginAnswer("mine", fields: ["Cache-Control: no-store"]))
    let (start, secret) = ("\(origin.base)/start", "\(origin.base)/secret")
    #expect(try tool.run("fetch", start, "-o", "-").text == "hello")
    #expect(try tool.run("fetch", secret, "-o", "-").text == "mine")
    origin.set("/page", OriginAnswer(status: 404))
    #expect(try tool.run("fetch", start).status == 1)
    #expect(try tool.run("fetch", "--keep-no-store", secret, "-o", "-").text == "mine")
    origin.stop()
    #expect(try tool.run("fetch", "--offline", start, "-o", "-").text == "hello")
    #expect(try tool.run("fetch", "--offline", secret, "-o", "-").status == 0)
    #expect(try tool.run("fetch", "--offline", "--no-history", start).status == 1)
    #expect(try tool.run("fetch", "--no-history", "--keep-no-store", start).status == 64)
  }

  @Test func `a refresh asks again and a plain fetch does not`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    var old = page("old")
    old.fields = ["Cache-Control: max-age=3600"]
    origin.set("/a", old)
    let stored = try tool.run("fetch", "\(origin.base)/a")
    #expect(stored.text == "stored  200          3 B  \(origin.base)/a\n")
    origin.set("/a", page("new"))
    #expect(try tool.run("fetch", "\(origin.base)/a", "-o", "-").text == "old")
    #expect(try tool.run("fetch", "--refresh", "\(origin.base)/a", "-o", "-").text == "new")
    #expect(try tool.run("fetch", "--offline", "\(origin.base)/a", "-o", "-").text == "new")
    #expect(origin.requests.count == 2)
  }

  @Test func `what has no freshness is asked for again`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("old"))
    #expect(try tool.run("fetch", "\(origin.base)/a", "-o", "-").text == "old")
    origin.set("/a", page("new"))
    #expect(try tool.run("fetch", "\(origin.base)/a", "-o", "-").text == "new")
    #expect(origin.requests.count == 2)
  }

  @Test func `what the server confirms is valid and not sent again`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    var first = page("hello")
    first.fields = ["ETag: \"1\""]
    origin.set("/a", first)
    #expect(try tool.run("fetch", "\(origin.base)/a").text.hasPrefix("stored  200"))
    origin.set("/a", OriginAnswer(status: 304, fields: first.fields))
    let second = try tool.run("fetch", "\(origin.base)/a", "-o", tool.path("page"))
    #expect(second.text == "valid   200          5 B  \(origin.base)/a\n")
    #expect(try tool.read(tool.path("page")) == Array("hello".utf8))
    origin.stop()
    let third = try tool.run("fetch", "\(origin.base)/a")
    #expect(third.text == "stale   200          5 B  \(origin.base)/a\n")
    #expect(
      third.errors.contains(
        "/a: the server does not answer: no connection can be made; the stored response is used"))
    #expect(try tool.run("fetch", "-q", "\(origin.base)/a").errors == "")
  }

  @Test func `an unreachable server's page that is stored is pointed to`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    origin.set("/a", OriginAnswer("hello", fields: ["Cache-Control: no-cache", "ETag: \"1\""]))
    #expect(try tool.run("fetch", "\(origin.base)/a").status == 0)
    origin.set("/a", OriginAnswer("no gzip", fields: ["Content-Encoding: gzip"]))
    let undecoded = try tool.run("fetch", "\(origin.base)/a")
    origin.stop()
    for stored in [undecoded, try tool.run("fetch", "\(origin.base)/a")] {
      #expect(stored.status == 2)
      #expect(stored.errors.hasSuffix("; --offline returns what is stored\n"))
    }
    let absent = try tool.run("fetch", "\(origin.base)/b")
    #expect(absent.status == 2 && !absent.errors.contains("--offline"))
    #expect(try tool.run("fetch", "--offline", "\(origin.base)/a").status == 0)
  }

  @Test func `what is wrong with a header or a URL is named`() throws {
    let tool = ToolRun()
    let broken = try tool.run("fetch", "http://a/", "-H", "X: a\r\nY: b")
    #expect(broken.status == 64)
    #expect(
      broken.errors.contains(
        "the value of the field 'X' has a line break or another control character; remove it"))
    let typed = try tool.run("fetch", #"404?\z"#)
    #expect(typed.status == 64 && typed.errors.contains(#"404?\z: the URL has no scheme"#))
  }

  @Test func `an error that lets the stored answer be served is reported`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    var first = page("hello")
    first.fields = ["Cache-Control: max-age=0, stale-if-error=1000"]
    origin.set("/a", first)
    _ = try tool.run("fetch", "\(origin.base)/a")
    origin.set("/a", OriginAnswer(status: 503))
    let second = try tool.run("fetch", "\(origin.base)/a")
    #expect(second.text.hasPrefix("stale   200") && second.status == 0)
    #expect(second.errors.contains("/a: the server answered 503"))
  }

  @Test func `a redirect that is not stored is reported`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/b", page("hello"))
    for (status, isStored) in [(301, true), (302, false), (307, false), (308, true)] {
      let url = "\(origin.base)/\(status)"
      origin.set("/\(status)", OriginAnswer(status: status, fields: ["Location: /b"]))
      let run = try tool.run("fetch", "--no-history", "--refresh", url)
      #expect(run.text.hasPrefix("stored  200"))
      #expect(run.errors.contains("offline, ask for \(origin.base)/b") == !isStored)
      #expect(try tool.run("fetch", "--offline", url).status == (isStored ? 0 : 1))
    }
    // Also where what it leads to is there already.
    origin.set("/b", OriginAnswer([1], fields: ["Cache-Control: max-age=1000"]))
    _ = try tool.run("fetch", "--refresh", "\(origin.base)/b")
    let hit = try tool.run("fetch", "--no-history", "\(origin.base)/302")
    #expect(hit.text.hasPrefix("hit") && hit.errors.contains("offline, ask for"))
    // With the history, it is there.
    let kept = try tool.run("fetch", "\(origin.base)/302")
    #expect(kept.text.hasPrefix("hit") && kept.errors == "")
    #expect(try tool.run("fetch", "--offline", "\(origin.base)/302").status == 0)
    origin.stop()
    let stale = try tool.run("fetch", "\(origin.base)/302")
    #expect(stale.status == 0)
  }

  @Test func `a body that the limits do not allow passes`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer([UInt8](repeating: 1, count: 3000)))
    #expect(try tool.run("limit", "--entry-bytes", "1000").status == 0)
    let run = try tool.run("fetch", "\(origin.base)/a", "-o", tool.path("a"))
    #expect(run.status == 0 && run.text.hasPrefix("passed  200"), "\(run.errors)")
    #expect(run.errors.contains("\(origin.base)/a: ") && run.errors.contains("limits allow 1000"))
    #expect(try tool.read(tool.path("a")).count == 3000)
    // Without -o nothing has the body.
    let kept = try tool.run("fetch", "-q", "\(origin.base)/a")
    #expect(kept.status == 2 && kept.errors.contains("fetched but not stored: "))
    #expect(kept.errors.contains("limits allow 1000"))
    origin.set(
      "/b", OriginAnswer([UInt8](repeating: 1, count: 3000), fields: ["Cache-Control: no-store"]))
    let seen = try tool.run("fetch", "-q", "--keep-no-store", "\(origin.base)/b")
    #expect(seen.status == 2 && seen.errors.contains("limits allow 1000"))
  }

  @Test func `a part is a success only for who has asked for one`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set(
      "/a", OriginAnswer("01234", status: 206, fields: ["Content-Range: bytes 0-4/10"]))
    let url = "\(origin.base)/a"
    #expect(try tool.run("fetch", url, "-o", tool.path("a")).status == 2)
    let part = try tool.run("fetch", url, "-o", tool.path("a"), "-H", "Range: bytes=0-4")
    #expect(part.status == 0 && part.text.contains("206"), "\(part.errors)")
    #expect(try tool.read(tool.path("a")) == Array("01234".utf8))
  }

  @Test func `a response that a field has chosen can be got by its key`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    var answer = page("hello")
    answer.fields = ["Vary: Accept-Encoding"]
    origin.set("/a", answer)
    #expect(try tool.run("fetch", "\(origin.base)/a").status == 0)
    #expect(try tool.run("get", "GET \(origin.base)/a").text == "hello")
  }

  @Test func `a list is fetched into a folder and what is missing is named`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/two%20words", page("1"))
    origin.set("/b/", page("22"))
    origin.set("/empty", page(""))
    let list = "\(origin.base)/two words\r\n# a remark\n\n\(origin.base)/b/\n\(origin.base)/gone\n"
    let result = try tool.run(
      "fetch", "--urls-from", "-", "--output-dir", tool.path("out"), "-j", "3",
      "\(origin.base)/empty", input: Array(list.utf8))
    #expect(result.status == 1)
    #expect(result.lines.count == 3)
    let errors = result.errors.split(separator: "\n")
    #expect(
      errors.first.map(String.init) == "offlinecache: \(origin.base)/gone: the server answered "
        + "404; check the URL")
    #expect(errors.last?.hasPrefix("3 fetched, 0 from the store, 1 not found, 0 failed; ") == true)
    let folder = tool.path("out/http/\(origin.base.dropFirst("http://".count))")
    #expect(try tool.read("\(folder)/two words") == Array("1".utf8))
    #expect(try tool.read("\(folder)/b/index.html") == Array("22".utf8))
    #expect(try tool.read("\(folder)/empty") == [])
    #expect(try names(in: folder) == ["two words", "b", "empty"])
  }

  @Test(arguments: [("fetch", 410, 1), ("fetch", 500, 2), ("fetch", 204, 0), ("download", 410, 1)])
  func `a refusal is not found and any other status a failure`(
    command: String, status: Int, exit: Int32
  ) throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer(status == 204 ? "" : "x", status: status))
    let option = command == "fetch" ? "--output" : "--output-dir"
    let result = try tool.run(command, "\(origin.base)/a", option, tool.path("out"))
    #expect(result.status == exit)
  }

  @Test func `what is not stored cannot be had offline`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-").status == 0)
    let url = "http://127.0.0.1:9/a"
    let result = try tool.run("fetch", "--offline", url, "-o", tool.path("page"))
    #expect(result.status == 1)
    #expect(
      result.errors == "offlinecache: \(url): cannot be answered offline, because nothing is "
        + "stored for it; fetch it first, and check that it is stored; what says no-store is kept "
        + "only with --keep-no-store\n")
    let kept = try tool.run("fetch", "--offline", "--keep-no-store", url)
    #expect(kept.errors.hasSuffix("; fetch it first, and check that it is stored\n"))
    #expect(!exists(tool.path("page")))
  }

  @Test func `a body that is cut short is neither stored nor written`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("half", claimedLength: 8))
    try tool.write(Array("before".utf8), to: tool.path("page"))
    let result = try tool.run("fetch", "\(origin.base)/a", "-o", tool.path("page"))
    #expect(result.status == 2)
    #expect(result.errors.hasPrefix("offlinecache: \(origin.base)/a: the body is incomplete"))
    #expect(try tool.read(tool.path("page")) == Array("before".utf8))
    #expect(try tool.run("ls").lines == [])
  }

  @Test func `an interrupted fetch keeps nothing half`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let half = [UInt8](repeating: 1, count: 2_000_000)
    origin.set("/a", OriginAnswer(half, claimedLength: 4_000_000, hangs: true))
    let out = try Pipe()
    defer { close(out.reader) }
    let running = try tool.start(
      ["fetch", "\(origin.base)/a", "-o", "-"].map { Array($0.utf8) },
      output: out.writer)
    close(out.writer)
    // The first byte of the body proves that the transfer is under way.
    #expect(try read(out.reader, atMost: 1) == [1])
    running.child.send(SIGINT)
    _ = try readAll(out.reader)
    let result = try running.finish()
    #expect(result.status == 130)
    #expect(result.errors == "")
    #expect(try tool.run("ls").lines == [])
  }

  @Test func `what was fetched before Ctrl-C is reported`() async throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    origin.set("/b", .silence)
    let input = try openFile("/dev/null", O_RDONLY)
    defer { close(input) }
    let urls = ["\(origin.base)/a", "\(origin.base)/b"]
    let words = ["fetch", "--jobs", "1", "--timeout", "1h"] + urls
    let running = try tool.start(words.map { Array($0.utf8) }, input: input)
    while !origin.requests.contains(where: { $0.target == "/b" }) { await Task.yield() }
    running.child.send(SIGINT)
    let result = try running.finish()
    #expect(result.status == 130)
    #expect(result.text == "stored  200          5 B  \(origin.base)/a\n")
    #expect(
      result.errors.hasPrefix(
        "1 fetched, 0 from the store, 0 not found, 0 failed; 5 B in "), "\(result.errors)")
  }

  @Test func `a URL with a password is refused, and the password is not shown`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let host = origin.base.dropFirst("http://".count)
    let list = "http://user:secret@\(host)/a\nhttp://\(host)/b@c\n"
    let result = try tool.run("fetch", "--urls-from", "-", input: Array(list.utf8))
    #expect(result.status == 2)
    #expect(
      result.errors.hasPrefix(
        "offlinecache: \(origin.base)/a: a URL with a name or password is refused, because it may stay "
          + "in the shell's history, in lists and logs; leave them out, and give --user NAME@HOST")
    )
    #expect(!(result.errors + result.text).contains("secret"))
    #expect(origin.requests.count == 1)
  }

  @Test func `a server that is not there is an error with a remedy`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    origin.stop()
    let result = try tool.run("fetch", "\(origin.base)/a")
    #expect(result.status == 2)
    #expect(result.errors.hasPrefix("offlinecache: \(origin.base)/a: "))
    #expect(result.output == [])
  }

  @Test(
    arguments: [
      ["fetch", "ftp://a.example/"], ["fetch", "--offline", "--refresh", "http://a.example/"],
      ["fetch", "-o", "x", "--output-dir", "y", "http://a.example/"],
      ["fetch", "-o", "x", "http://a.example/", "http://b.example/"],
      ["fetch", "-j", "65", "http://a.example/"],
    ])
  func `a fetch that makes no sense is refused`(words: [String]) throws {
    let tool = ToolRun()
    let result = try tool.run(bytes: words.map { Array($0.utf8) })
    #expect(result.status == 64)
    #expect(!exists(tool.store))
  }
}
