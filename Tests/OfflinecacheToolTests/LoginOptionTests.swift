import Foundation
import LoopbackOrigin
import Testing
import ToolTesting

/// `--user`: logging in from the shell.
@Suite struct LoginOptionTests {
  private static let password = "wonderland"

  /// Asks for a password by Basic, and redirects to another place where the path says so.
  private static func answer(_ request: OriginRequest, elsewhere: String = "") -> OriginAnswer {
    if request.target == "/away" { return .redirect(elsewhere) }
    let expected = "Basic " + Data("alice:\(password)".utf8).base64EncodedString()
    guard request.value(of: "Authorization") == expected else {
      return OriginAnswer(
        "who?", status: 401, fields: ["WWW-Authenticate: Basic realm=\"private\""])
    }
    return OriginAnswer(
      "secret of \(request.method)", fields: ["Cache-Control: max-age=60", "ETag: \"1\""])
  }

  private let tool: ToolRun
  private let origin: LoopbackOrigin
  private let user: String

  init() throws {
    tool = ToolRun()
    origin = try LoopbackOrigin { Self.answer($0) }
    user = "alice@127.0.0.1:\(origin.port)"
  }

  private func run(_ arguments: String..., password: String = Self.password) throws -> ToolResult {
    let words =
      ["/usr/bin/env", "OFFLINECACHE_PASSWORD=\(password)", try ToolRun.executable()]
      + ["--store", tool.store] + arguments
    return try tool.run(program: words.map { Array($0.utf8) })
  }

  @Test func `a page is fetched, kept, and found offline by its user alone`() throws {
    let url = origin.url("/page").absoluteString
    #expect(try run("fetch", url).status == 1)
    #expect(try run("fetch", url, "-o", "-", "--user", user).text == "secret of GET")
    let count = origin.requests.count
    #expect(try run("fetch", url, "-u", user).text.hasPrefix("hit "))
    #expect(try run("fetch", url, "--offline", "-u", "alice@127.0.0.1").text.hasPrefix("hit "))
    #expect(try run("fetch", url, "--offline").status == 1)
    #expect(try run("fetch", url, "--offline", "-u", user, password: "wrong").status == 1)
    #expect(origin.requests.count == count)
    #expect(try run("fetch", url, "--refresh", "-u", user, password: "wrong").status == 1)
    // Once without, once with the password, which is not tried again.
    #expect(origin.requests.count == count + 2)
  }

  @Test func `another host does not get the password`() throws {
    let other = try LoopbackOrigin { Self.answer($0) }
    let target = other.url("/page").absoluteString
    let first = try LoopbackOrigin { Self.answer($0, elsewhere: target) }
    defer {
      other.stop()
      first.stop()
    }
    let away = first.url("/away").absoluteString
    #expect(try run("fetch", away, "--user", "alice@127.0.0.1:\(first.port)").status == 1)
    #expect(other.requests.count == 1)
    #expect(other.requests.allSatisfy { $0.value(of: "Authorization") == nil })
    // Nor does another port of the host, unless a URL was typed for it.
    #expect(try run("fetch", away, "--user", "alice@127.0.0.1").status == 1)
    #expect(other.requests.allSatisfy { $0.value(of: "Authorization") == nil })
    #expect(try run("fetch", away, target, "--user", "alice@127.0.0.1").status == 0)
  }

  @Test(arguments: ["fetch", "download"])
  func `a password that was refused is not sent for the next URL`(command: String) throws {
    let urls = (0..<20).map { origin.url("/\($0)").absoluteString }
    let words =
      ["/usr/bin/env", "OFFLINECACHE_PASSWORD=wrong", try ToolRun.executable(), "--store"]
      + [tool.store, command, "-j", "1", "-u", user] + urls
      + (command == "download" ? ["--output-dir", "\(tool.folder)/d"] : [])
    #expect(try tool.run(program: words.map { Array($0.utf8) }).status == 1)
    let sent = origin.requests.filter { $0.value(of: "Authorization") != nil }
    #expect(sent.count == 1)
    #expect(origin.requests.count == 21)
  }

  @Test func `downloads, checks and uploads log in as well`() throws {
    let url = origin.url("/page").absoluteString
    let folder = "\(tool.folder)/files"
    #expect(try run("download", url, "--output-dir", folder).status == 1)
    let download = try run("download", url, "--output-dir", folder, "--user", user)
    #expect(download.status == 0, "\(download.errors)")
    #expect(
      try String(contentsOfFile: "\(folder)/page", encoding: .utf8) == "secret of GET")
    #expect(
      try run("check", url, "--output-dir", folder, "--user", user).text.hasPrefix("current "))
    #expect(try run("fetch", url, "--user", user).status == 0)
    #expect(try run("check", url, "--user", user).text.hasPrefix("current "))
    let upload = try run("upload", url, "--urlencode", "a=b", "-o", "-", "--user", user)
    #expect(upload.text == "secret of POST")
  }

  @Test func `a downloaded file is used until it expires, by its user alone`() throws {
    let url = origin.url("/page").absoluteString
    func download(_ user: String) throws -> Int32 {
      try run(
        "download", url, "--output-dir", "\(tool.folder)/files", "--expires", "1h", "--user", user
      ).status
    }
    for _ in 0..<3 { #expect(try download(user) == 0) }
    // The second one is that with the password.
    #expect(origin.requests.count == 2)
    _ = try download(user.replacing("alice", with: "bob"))
    #expect(origin.requests.count > 2)
  }

  @Test(arguments: [
    ("alice", "give a user and a host such as alice@example.org"),
    ("@host", "give a user and a host such as alice@example.org"),
    ("alice@host#part", "give a user and a host such as alice@example.org"),
    ("alice@host:", "give a user and a host such as alice@example.org"),
    ("alice@host/path", "give a user and a host such as alice@example.org"),
    ("alice:pw@host", "set OFFLINECACHE_PASSWORD"),
  ])
  func `an invalid user is reported`(value: String, remedy: String) throws {
    let result = try run("fetch", origin.url().absoluteString, "--user", value)
    #expect(result.status == 64)
    #expect(result.errors.contains(remedy))
    #expect(origin.requests.isEmpty)
  }

  @Test func `a list of URLs is checked`() throws {
    let url = origin.url("/page").absoluteString
    #expect(try run("fetch", url, "--user", user).status == 0)
    let list = "\(tool.folder)/list"
    try "\(url)\n# none\nnonsense\n".write(toFile: list, atomically: true, encoding: .utf8)
    let result = try run("check", "--urls-from", list, "--user", user)
    #expect(result.text == "current  \(url)\n")
    #expect(result.status == 2)
    #expect(result.errors.contains("nonsense"))
    #expect(try run("check").status == 64)
  }
}
