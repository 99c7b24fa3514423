import LoopbackOrigin
import Testing
import ToolTesting

/// What the command says where it cannot fetch something.
@Suite struct RefusalTests {
  @Test(arguments: [
    ("ftp://h/x", "ftp://h/x: the scheme is not supported; only http and https are"),
    ("foo", "foo: the URL has no scheme; write it with http:// or https:// in front"),
    ("http:///x", "http:///x: the URL has no host; write it as http://host/path"),
    (
      "http://h:99999/",
      "http://h:99999/: the port is not a number from 1 to 65535; correct it, or leave it out"
    ),
    (
      "http://b\u{FC}cher.example/",
      "http://b\u{FC}cher.example/: the host has a character that no host name has; "
        + "write an international name in its xn-- form"
    ),
    ("http://a b/", "http://a b/: the URL has a blank in its host; remove it"),
    ("ftp://alice:secret@h/x", "ftp://h/x: the scheme is not supported; only http and https are"),
    (
      "http://alice:secret@h/x",
      "http://h/x: a URL with a name or password is refused, because it may stay in the shell's "
        + "history, in lists and logs; leave them out, and give --user NAME@HOST, which asks for the "
        + "password"
    ),
  ])
  func `an argument that is no URL to fetch is named with cause and remedy`(
    url: String, message: String
  ) throws {
    let tool = ToolRun()
    for command in ["fetch", "download", "check"] {
      let result = try tool.run(command, url)
      #expect(result.status == 64)
      #expect(result.errors == "offlinecache \(command): \(message)\n")
    }
  }

  @Test func `a store that the environment names with a tilde is refused`() throws {
    let tool = ToolRun()
    let words = ["/usr/bin/env", "OFFLINECACHE_STORE=~/x", try ToolRun.executable(), "stats"]
    let result = try tool.run(program: words.map { Array($0.utf8) })
    #expect(result.status == 64)
    #expect(
      result.errors
        == "offlinecache stats: OFFLINECACHE_STORE is '~/x', which names no folder; "
        + "set it to a path with $HOME for ~, or with ./ before it\n")
  }

  @Test func `a URL that is too long is cut in the message`() throws {
    let url = "http://h/" + String(repeating: "a", count: 100_000)
    let result = try ToolRun().run("fetch", url)
    #expect(result.status == 64)
    #expect(result.errors.utf8.count < 400)
    #expect(
      result.errors.hasSuffix("...: the URL is longer than 65536 bytes; ask for a shorter one\n"))
  }

  @Test(arguments: [
    (
      302, "Location: file:///etc/passwd",
      ": it redirects to file:///etc/passwd, which cannot be fetched; check the URL"
    ),
    (
      302, "Location: ftp://alice:secret@h/",
      ": it redirects to ftp://h/, which cannot be fetched; check the URL"
    ),
    (401, "", ": it wants credentials, or refuses those; see --user and --header"),
    (404, "", "; check the URL"),
    (503, "", "; try again later"),
  ])
  func `a status without content is reported with what helps`(
    status: Int, fields: String, message: String
  ) throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    origin.set("/a", OriginAnswer(status: status, fields: fields.isEmpty ? [] : [fields]))
    let result = try tool.run("fetch", "\(origin.base)/a")
    #expect(result.status == ((400...499).contains(status) ? 1 : 2))
    let start = "offlinecache: \(origin.base)/a: the server answered \(status)"
    #expect(result.errors.hasPrefix(start + message + "\n"))
  }

  @Test func `a stored answer without content is told apart from one of the server`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let url = "\(origin.base)/a"
    origin.set("/a", OriginAnswer(status: 404, fields: ["Cache-Control: max-age=1000"]))
    for (option, words) in [
      ("-q", "the server answered 404; check the URL"),
      ("-q", "the stored answer is 404; --refresh asks the server"),
      ("--offline", "the stored answer is 404; without --offline, the server can be asked"),
      ("--refresh", "the server answered 404; check the URL"),
    ] {
      let result = try tool.run("fetch", option, url)
      #expect(result.status == 1 && result.errors == "offlinecache: \(url): \(words)\n")
    }
    #expect(origin.requests.count == 2)
  }

  @Test func `what is not kept has the reason on its line, and the option for it`() throws {
    let (tool, origin) = (ToolRun(), try LoopbackOrigin())
    defer { origin.stop() }
    let url = "\(origin.base)/a"
    origin.set("/a", OriginAnswer("hello", fields: ["Cache-Control: no-store"]))
    let passed = try tool.run("fetch", url)
    #expect(passed.text == "passed  200          5 B  \(url)  (the response says no-store)\n")
    let none = try tool.run("fetch", "--offline", url)
    #expect(none.status == 1)
    #expect(
      none.errors == "offlinecache: \(url): cannot be answered offline, because nothing is stored "
        + "for it; fetch it first, and check that it is stored; what says no-store is kept only "
        + "with --keep-no-store\n")
    #expect(try tool.run("fetch", "--keep-no-store", url).status == 0)
    #expect(try tool.run("fetch", "--offline", url).status == 0)
  }

  @Test func `the option that helps is named`() throws {
    let tool = ToolRun()
    #expect(try tool.run("limit", "--entry-bytes", "2K", "--pinned-bytes", "1K").status == 0)
    let body = [UInt8](repeating: 1, count: 3000)
    let put = try tool.run("put", "k", "-", input: body)
    #expect(put.status == 2)
    #expect(put.errors.hasSuffix("; raise the limits of the store ('offlinecache limit')\n"))
    let pin = try tool.run("put", "k", "-", "--pin", input: Array(body.prefix(2000)))
    #expect(pin.status == 2)
    #expect(
      pin.errors.hasSuffix(
        "; unpin something, or raise the limit of pinned bytes ('offlinecache limit "
          + "--pinned-bytes')\n"), "\(pin.errors)")
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", OriginAnswer(body))
    let url = "\(origin.base)/a"
    for words in [["-q"], ["-o", tool.path("a")]] {
      let fetch = try tool.run(bytes: (["fetch", url] + words).map { Array($0.utf8) })
      #expect(fetch.errors.contains("raise the limits of the store ('offlinecache limit')\n"))
    }
    let crawl = try tool.run("crawl", url)
    #expect(crawl.text.hasSuffix("raise the limits of the store ('offlinecache limit')\n"))
    let other = try tool.run("download", url, "--output-dir", tool.folder)
    #expect(other.status == 2)
    #expect(other.errors.hasSuffix("; move it away, or allow it to be replaced (--restart)\n"))
  }
}
