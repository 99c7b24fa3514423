import CLibrary
import CommandLineTools
import Foundation
import Testing
import ToolTesting

@testable import offlinecache

@Suite struct EntriesTests {
  @Test(arguments: [0, 1, 4096, 1_000_003])
  func `what was put is what is got`(length: Int) throws {
    let tool = ToolRun()
    var generator = SystemRandomNumberGenerator()
    let body = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let put = try tool.run("put", "key", "-", input: body)
    #expect(put.status == 0)
    #expect(put.output == [])
    #expect(put.errors == "")
    let get = try tool.run("get", "key")
    #expect(get.status == 0)
    #expect(get.output == body)
    #expect(get.errors == "")
  }

  @Test func `a file is stored and written back under its name`() throws {
    let tool = ToolRun()
    let (source, target) = (tool.path("source"), tool.path("target"))
    try tool.write(Array("the body".utf8), to: source)
    try tool.write(Array("something older and longer".utf8), to: target)
    #expect(try tool.run("put", "key", source).status == 0)
    let get = try tool.run("get", "key", "-o", target)
    #expect(get.status == 0)
    #expect(get.output == [])
    #expect(try tool.read(target) == Array("the body".utf8))
  }

  #if os(Linux)
    @Test func `a file whose length the system does not know is stored whole`() throws {
      let tool = ToolRun()
      #expect(try tool.run("put", "key", "/proc/version").status == 0)
      let text = try String(contentsOfFile: "/proc/version", encoding: .utf8)
      #expect(try tool.run("get", "key").text == text)
    }
  #endif

  @Test func `a key need not be text`() throws {
    let tool = ToolRun()
    let key: [UInt8] = [0xFF, 0x0A, 0x1B, 0x5B, 0x80]
    func words(_ list: String...) -> [[UInt8]] { list.map { Array($0.utf8) } }
    #expect(
      try tool.run(bytes: words("put") + [key] + words("-"), input: [1, 2]).status == 0)
    #expect(try tool.run(bytes: words("get") + [key]).output == [1, 2])
    #expect(try tool.run("ls", "-0").output == key + [0])
    #expect(try tool.run("ls").output == key + [0x0A])
    let show = try tool.run(bytes: words("show") + [key])
    #expect(show.lines.first == "key       \\xff\\n\\x1b[\\x80")
    let json = try tool.run("ls", "--json")
    #expect(json.text.contains(#""key_hex":"ff0a1b5b80""#))
    let absent = try tool.run(bytes: words("get") + [key + [0x07]])
    #expect(absent.status == 1)
    #expect(absent.errors.hasPrefix("offlinecache: \\xff\\n\\x1b[\\x80\\x07: there is no such "))
  }

  @Test func `bytes that are no text are in the json as hex`() throws {
    let tool = ToolRun()
    let words = ["put", "k", "-", "--tag", "\u{FFFD}", "--field", "X-Name: caf\u{FFFD}"]
    let bytes = words.map {
      Array($0.unicodeScalars.map { $0 == "\u{FFFD}" ? 0xE9 : UInt8($0.value) })
    }
    let put = try tool.run(bytes: bytes, input: [1])
    #expect(put.status == 0, "\(put.errors)")
    let json = try tool.run("show", "k", "--json").text
    #expect(json.contains("[\"X-Name\",\"caf\u{FFFD}\",\"636166e9\"]"), "\(json)")
    #expect(json.contains("\"tags_hex\":[\"e9\"]"), "\(json)")
  }

  @Test func `metadata is shown as a table and as json`() throws {
    let tool = ToolRun()
    let put = try tool.run(
      "put", "k", "-", "--status", "203", "--field", "A: 1", "--field", "A:2", "--info", "by: me",
      "--tag", "red", "--tag", "blue", "--pin", input: [7, 7, 7])
    #expect(put.status == 0)
    let table = try tool.run("show", "k").lines
    for line in [
      "key       k", "length    3 (3 B)", "expires   never", "pinned    yes", "tag       red",
      "tag       blue", "info      by: me", "status    203", "field     A: 1", "field     A: 2",
    ] { #expect(table.contains(line)) }
    let json = try tool.run("show", "k", "--json").text
    for member in [
      #""key":"k""#, #""length":3"#, #""pinned":true"#, #""status":203"#, #""expires":null"#,
    ] { #expect(json.contains(member)) }
  }

  @Test func `the times of a response are shown as dates`() throws {
    let tool = ToolRun()
    let put = try tool.run(
      "put", "k", "-", "--info", "http-request-time:1796082635593288786", "--info",
      "http-response-time:soon", "--info", "time:1796082635593288786", "--info",
      "http-body-date:1796086820", "--info", "http-body-date:9223372036854775807")
    #expect(put.status == 0)
    let table = try tool.run("show", "k").lines.filter { $0.hasPrefix("info") }
    #expect(
      table == [
        "info      http-request-time: 2026-11-30T23:50:35Z", "info      http-response-time: soon",
        "info      time: 1796082635593288786", "info      http-body-date: 2026-12-01T01:00:20Z",
        "info      http-body-date: 9223372036854775807",
      ])
    #expect(try tool.run("show", "k", "--json").text.contains("\"1796082635593288786\""))
  }

  @Test func `an entry that cannot be pinned is stored, and the message says so`() throws {
    let tool = ToolRun()
    #expect(try tool.run("limit", "--pinned-bytes", "4KiB").status == 0)
    let put = try tool.run("put", "k", "-", "--pin", input: Array(repeating: 7, count: 100_000))
    #expect(put.status == 2)
    #expect(put.errors.contains("the entry is stored, but not pinned: "))
    #expect(try tool.run("get", "k").output.count == 100_000)
  }

  @Test func `a variant that is not there is named`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    let result = try tool.run("get", "k", "--variant", "9F")
    #expect(result.status == 1)
    #expect(
      result.errors
        == "offlinecache: k: it has no variant 9f; 'offlinecache show' lists its variants\n")
    #expect(
      try tool.run("get", "none", "--variant", "9f").errors.contains("there is no such entry"))
  }

  @Test func `a second body replaces the first`() throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    #expect(try tool.run("put", "k", "-", input: [2]).status == 0)
    #expect(try tool.run("get", "k").output == [2])
    #expect(try tool.run("ls").lines == ["k"])
  }

  @Test func `entries are listed by prefix and in order`() throws {
    let tool = ToolRun()
    for (key, length) in [("a/1", 10), ("a/2", 3000), ("b/1", 200)] {
      let put = try tool.run("put", key, "-", input: [UInt8](repeating: 1, count: length))
      #expect(put.status == 0)
    }
    #expect(Set(try tool.run("ls").lines) == ["a/1", "a/2", "b/1"])
    #expect(Set(try tool.run("ls", "a/").lines) == ["a/1", "a/2"])
    #expect(try tool.run("ls", "c").lines == [])
    #expect(try tool.run("ls", "--sort", "size").lines == ["a/2", "b/1", "a/1"])
    #expect(try tool.run("ls", "--sort", "age").lines == ["a/1", "a/2", "b/1"])
    #expect(try tool.run("get", "a/1").status == 0)
    #expect(try tool.run("ls", "--sort", "access").lines.first == "a/1")
    let long = try tool.run("ls", "--long", "--sort", "size").lines
    #expect(long.first?.hasPrefix("    2.9 KiB  ") == true)
    #expect(long.first?.hasSuffix("Z    -  -  a/2") == true)
  }

  @Test func `what was purged is in no file of the store`() throws {
    let tool = ToolRun()
    let key = "https://example.org/?token=s3cr3t"
    #expect(try tool.run("put", key, "-", input: [1, 2]).status == 0)
    #expect(try tool.run("put", "kept", "-", input: [3]).status == 0)
    #expect(try tool.run("rm", "--purge", key).status == 0)
    let files = try #require(FileManager.default.enumerator(atPath: tool.store))
    while let name = files.nextObject() as? String {
      let bytes = FileManager.default.contents(atPath: "\(tool.store)/\(name)") ?? Data()
      #expect(bytes.range(of: Data("s3cr3t".utf8)) == nil, "\(name)")
    }
    #expect(try tool.run("get", "kept").output == [3])
  }

  @Test func `entries are removed by key prefix tag and all at once`() throws {
    let tool = ToolRun()
    for key in ["a/1", "a/2", "b/1", "b/2", "c"] {
      let tag = key.hasSuffix("1") ? "odd" : "other"
      #expect(try tool.run("put", key, "-", "--tag", tag, input: [1]).status == 0)
    }
    let one = try tool.run("rm", "c", "missing")
    #expect(one.status == 1)
    #expect(one.errors.hasPrefix("offlinecache: missing: there is no such entry;"))
    #expect(try tool.run("get", "c").status == 1)
    #expect(try tool.run("rm", "--tag", "odd").errors == "removed 2 entries\n")
    let prefixes = try tool.run("rm", "--prefix", "a/", "--prefix", "none")
    #expect(prefixes.errors == "removed 1 entry\n")
    #expect(try tool.run("rm", "--prefix", "a/").errors == "removed 0 entries\n")
    let hint =
      "offlinecache: http://a: no key begins with this; the key of a page is 'GET http://a/'\n"
    #expect(try tool.run("rm", "--prefix", "http://a").errors == hint + "removed 0 entries\n")
    #expect(try tool.run("ls", "http://a").errors == hint)
    let unsafe = try tool.run("show", "GET http://a/b c#d")
    #expect(unsafe.status == 1)
    #expect(
      unsafe.errors
        == "offlinecache: GET http://a/b c#d: there is no such entry; the key of a page is "
        + "'GET http://a/b%20c'\n")
    #expect(
      try tool.run("show", "GET http://a/").errors.hasSuffix("'offlinecache ls' lists the keys\n"))
    #expect(try tool.run("ls", "--sort", "size", "http://a").errors == hint)
    #expect(try tool.run("rm", "--older-than", "1d").errors == "removed 0 entries\n")
    #expect(try tool.run("ls").lines == ["b/2"])
    #expect(try tool.run("rm", "--older-than", "0").errors == "removed 1 entry\n")
    #expect(try tool.run("put", "d", "-").status == 0)
    let all = try tool.run("rm", "--all")
    #expect(all.status == 0)
    #expect(all.errors == "removed 1 entry\n")
    #expect(try tool.run("ls").lines == [])
  }

  @Test func `a removal that was interrupted says how many it removed`() async throws {
    let tool = ToolRun()
    #expect(try tool.run("put", "a", "-", "--tag", "t", input: [1]).status == 0)
    for words in [["--prefix", "a"], ["--tag", "t"], ["--older-than", "0"], ["a", "b"]] {
      let arguments = ["--store", tool.store, "rm"] + words
      let result = try await #require(
        processExitsWith: .exitCode(143), observing: [\.standardErrorContent]
      ) { [arguments = arguments as [String]] in
        Interruption.watch(patience: 3600)
        kill(getpid(), SIGTERM)
        while Interruption.requested == nil { sched_yield() }
        let parsed = try Declarations.tool.parse(arguments.map { Argument($0) }, width: 80)
        guard case .run(let invocation) = parsed else { return }
        do {
          exit(Int32(try RemoveCommand.run(invocation).rawValue))
        } catch is Interrupted { exit(143) }
      }
      let errors = String(decoding: result.standardErrorContent, as: UTF8.self)
      #expect(errors == "removed 0 entries\n")
      #expect(try tool.run("ls").lines == ["a"])
    }
  }
}
