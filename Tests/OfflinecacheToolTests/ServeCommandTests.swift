import CLibrary
import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(2))) struct ServeCommandTests {
  private func page(_ text: String) -> OriginAnswer {
    OriginAnswer(text, fields: ["Cache-Control: max-age=3600"])
  }

  @Test(.enabled(if: SmallVolume.canBeMade, "mount(8) is not allowed here"))
  func `a store that cannot be written is served with --offline, and without it that is said`()
    throws
  {
    let tool = ToolRun()
    let volume = try SmallVolume(at: tool.store, bytes: 4 << 20)
    #expect(try tool.run("put", "k", "-", input: [1]).status == 0)
    try volume.makeReadOnly()
    let refused = try tool.run("serve", "--listen", "127.0.0.1:0")
    #expect(refused.status == 2)
    #expect(
      refused.errors.contains(
        "Read-only file system; add --offline to answer from it as it is, or choose another "))
    let serving = try Serving("--offline", on: tool)
    #expect(try serving.fetch("/a").status != 0)
    serving.running.child.send(SIGTERM)
    #expect(try serving.running.finish().status == 0)
    let other = try SmallVolume(at: tool.path("other"), bytes: 1 << 20)
    try other.makeReadOnly()
    let words = [try ToolRun.executable(), "--store", "\(other.path)/none", "serve"]
    let missing = try tool.run(program: words.map { Array($0.utf8) })
    #expect(missing.status == 2)
    #expect(missing.errors.contains("Read-only file system; choose a store "))
  }

  @Test func `what was served once is served without the origin, also by the next server`() throws {
    let origin = try LoopbackOrigin()
    origin.set("/a", page("hello"))
    let serving = try Serving("--origin", origin.base)
    for _ in 1...2 { #expect(try serving.fetch("/a").text == "hello") }
    #expect(origin.requests.count == 1)
    serving.running.child.send(SIGTERM)
    let result = try serving.running.finish()
    #expect(result.status == 0)
    #expect(result.lines.count == 2)
    #expect(result.lines[0].contains("\"GET \(origin.base)/a\" 200 5 \"OfflineCache; fwd=uri-miss"))
    #expect(result.lines[1].contains("\"GET \(origin.base)/a\" 200 5 \"OfflineCache; hit; ttl="))
    origin.stop()
    #expect(try serving.server.run("ls").lines == ["GET \(origin.base)/a"])
  }

  @Test func `without the folder of its store it passes answers on, and says so once`() throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    for path in ["/a", "/b", "/c"] { origin.set(path, page("hello \(path)")) }
    let serving = try Serving("--origin", origin.base)
    #expect(try serving.fetch("/a").text == "hello /a")
    try FileManager.default.removeItem(atPath: serving.server.store)
    for path in ["/b", "/c", "/b", "/a"] {
      #expect(try serving.fetch(path).text == "hello \(path)")
    }
    serving.running.child.send(SIGTERM)
    let end = try serving.running.finish()
    #expect(end.status == 0)
    let notices = end.errors.split(separator: "\n").filter { $0.contains("not stored") }
    #expect(notices.count == 1)
    #expect(
      notices.first?.contains("moved meanwhile, open it or start the command again") == true)
    #expect(!exists(serving.server.store))
  }

  @Test(arguments: [
    "--set-cookie keep", "--remote-mode read", "--remote-namespace a", "--tunnel a.test",
    "--trust-forwarded", "--shared --private", "--tls-cert a.pem",
    "--origin http://a.test --connect-port 1", "--origin http://a.test/#f",
  ])
  func `options that would have no effect are refused`(options: String) throws {
    let words = "serve \(options)".split(separator: " ").map { Array($0.utf8) }
    let result = try ToolRun().run(bytes: words)
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
  }

  @Test func `the log is JSON in a file, and begins anew after SIGHUP`() throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    let logs = ToolRun()
    let log = logs.path("log")
    let serving = try Serving("--origin", origin.base, "--log", log, "--log-format", "json")
    #expect(try serving.fetch("/a").text == "hello")
    try serving.running.child.wait { try !logs.read(log).isEmpty }
    let renamed = unsafe rename(log, logs.path("old"))
    #expect(renamed == 0)
    serving.running.child.send(SIGHUP)
    try serving.running.child.wait { exists(log) }
    #expect(try serving.fetch("/a").text == "hello")
    serving.running.child.send(SIGINT)
    #expect(try serving.running.finish().status == 0)
    for (path, status) in [(logs.path("old"), "fwd=uri-miss; stored"), (log, "hit; ttl=")] {
      let lines = String(decoding: try logs.read(path), as: UTF8.self).split(separator: "\n")
      #expect(lines.count == 1)
      #expect(lines[0].hasPrefix("{\"time\":\"20"))
      #expect(lines[0].contains("\"cache_status\":\"OfflineCache; \(status)"))
    }
  }

  @Test func `offline it answers 504 for what it does not have`() throws {
    let run = ToolRun()
    #expect(try run.run("put", "a", "-").status == 0)
    let serving = try Serving(
      "--origin", "http://127.0.0.1:1", "--offline", "--log", "none", on: run)
    let result = try serving.fetch("/a")
    #expect(result.status == 2)
    #expect(result.errors.contains("the server answered 504"))
    serving.running.child.send(SIGTERM)
    let end = try serving.running.finish()
    #expect(end.status == 0)
    #expect(end.output.isEmpty)
  }

  @Test(arguments: [("drop", 2), ("keep", 1)])
  func `for many users an answer with a cookie is stored only with --set-cookie keep`(
    rule: String, requests: Int
  ) throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set(
      "/a",
      OriginAnswer([65], fields: ["Cache-Control: max-age=3600", "Set-Cookie: sid=1"]))
    let serving = try Serving("--origin", origin.base, "--shared", "--set-cookie", rule)
    for _ in 1...2 { #expect(try serving.fetch("/a").text == "A") }
    #expect(origin.requests.count == requests)
    serving.running.child.send(SIGTERM)
    #expect(try serving.running.finish().status == 0)
  }

  @Test(arguments: [true, false])
  func `CDN-Cache-Control is for the proxy of an origin alone`(isReverse: Bool) throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set(
      "/a",
      OriginAnswer(
        [65], fields: ["Cache-Control: private, no-store", "CDN-Cache-Control: max-age=3600"]))
    let serving =
      isReverse ? try Serving("--shared", "--origin", origin.base) : try Serving("--shared")
    for _ in 1...2 {
      let fetched =
        isReverse
        ? try serving.fetch("/a")
        : try serving.client.run(
          "fetch", "--refresh", "--proxy", serving.base, "\(origin.base)/a", "-o", "-")
      #expect(fetched.text == "A")
    }
    #expect(origin.requests.count == (isReverse ? 1 : 2))
    serving.running.child.send(SIGTERM)
    #expect(try serving.running.finish().status == 0)
  }

  @Test func `it answers under its own names and those of --host, and under no other`() throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    let serving = try Serving(
      "--origin", origin.base, "--host", "a.test", "--host", "B.test", "--log", "none")
    func fetch(_ url: String) throws -> ToolResult {
      try serving.client.run("fetch", "--refresh", "--proxy", serving.base, url, "-o", "-")
    }
    #expect(try serving.fetch("/a").text == "hello")
    #expect(try fetch("http://a.test/a").text == "hello")
    #expect(try fetch("http://b.test:81/a").text == "hello")
    let refused = try fetch("http://evil.example/a")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("421"))
    serving.running.child.send(SIGTERM)
    #expect(try !serving.running.finish().errors.contains("warning"))
  }

  @Test func `it warns where other machines can connect`() throws {
    let serving = try Serving("--origin", "http://127.0.0.1:1", listen: "0.0.0.0:0")
    serving.running.child.send(SIGTERM)
    let errors = try serving.running.finish().errors
    #expect(errors.contains("offlinecache: warning: other machines can connect to 0.0.0.0:"))
  }

  @Test func `a second signal ends it at once`() throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", OriginAnswer([65], claimedLength: 10, hangs: true))
    let serving = try Serving("--origin", origin.base, "--grace", "1h")
    let fetch = try serving.client.start(
      ["fetch", serving.base + "/a"].map { Array($0.utf8) })
    try fetch.child.wait { !origin.requests.isEmpty }
    serving.running.child.send(SIGTERM)
    serving.running.child.send(SIGINT)
    let status = try serving.running.finish().status
    // Two signals may come in any order.
    #expect([128 + SIGTERM, 128 + SIGINT].contains(status))
    #expect(try fetch.finish().status != 0)
  }

  @Test func `an address in use is an error`() throws {
    let serving = try Serving("--origin", "http://127.0.0.1:1")
    let address = serving.base.dropFirst("http://".count)
    let result = try serving.client.run("serve", "--listen", String(address))
    #expect(result.status == 2)
    #expect(result.errors.hasPrefix("offlinecache: \(address): the address is in use ("))
    serving.running.child.send(SIGTERM)
    #expect(try serving.running.finish().status == 0)
  }

  @Test(arguments: [
    ["--shared", "--private"], ["--listen", "8080"], ["--origin", "ftp://a"], ["--origin", "a:80"],
    ["--origin", "http://u:p@a"], ["--origin", "http://a/?b"], ["--log-format", "xml"],
    ["--grace", "10"], ["--memory", "x"], ["--origin", "http://a", "--origin", "http://b"],
    ["--connect-port", "0"], ["--connect-port", "http"], ["--resolve", "a:80"],
    ["--resolve", "a:80:b"], ["--origin", "http://a", "--allow-private"],
    ["--host", "a:80"], ["--host", "a/b"], ["--host", ""], ["--trust-forwarded"],
  ])
  func `an option that makes no sense is an error`(options: [String]) throws {
    let tool = ToolRun()
    let result = try tool.run(bytes: (["serve"] + options).map { Array($0.utf8) })
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
  }

  @Test func `a log that cannot be opened is an error`() throws {
    let tool = ToolRun()
    let result = try tool.run("serve", "--listen", "127.0.0.1:0", "--log", tool.path("no/log"))
    #expect(result.status == 2)
    #expect(result.errors.contains("no/log: the log cannot be opened"))
  }
}
