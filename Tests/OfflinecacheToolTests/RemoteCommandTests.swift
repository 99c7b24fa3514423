import Foundation
import LoopbackOrigin
import NginxOrigin
import Testing
import ToolTesting

/// Machines that share a tier on nginx, by the command line.
@Suite(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
struct RemoteCommandTests {
  private static let servers = """
    server {
      listen PORT0;
      location /team/ {
        root FOLDER/site; dav_methods PUT DELETE; create_full_put_path on;
      }
      location /portal/ { return 200 "log in"; }
      location /closed/ { return 401; }
      location /reading/ { root FOLDER/site; limit_except GET { deny all; } }
    }
    """

  private let tier: NginxOrigin
  private let secret = TemporaryFolder()

  init() async throws {
    tier = try await NginxOrigin(Self.servers, in: TemporaryFolder())
    try Data("a secret of enough bytes\n".utf8).write(to: secret.url.appending(path: "key"))
  }

  /// The options for the tier.
  private func remote(_ place: String = "/team/") -> [String] {
    let url = tier.address(place, scheme: "http", host: "127.0.0.1")
    return [
      "--remote", url, "--remote-secret-file", "\(secret.path)/key", "--proxy", "none",
    ]
  }

  private func run(
    _ tool: ToolRun, _ command: [String], _ options: [String]
  ) throws -> ToolResult {
    try tool.run(bytes: (command + options).map { Array($0.utf8) })
  }

  private func makeOrigin() throws -> LoopbackOrigin {
    try LoopbackOrigin { request in
      let isPrivate = request.target.hasPrefix("/private")
      let field = "Cache-Control: max-age=600\(isPrivate ? ", private" : "")"
      return OriginAnswer("answer to \(request.target)", fields: [field])
    }
  }

  @Test
  func `check tells whether a server can be used`() throws {
    let tool = ToolRun()
    let good = try run(tool, ["remote", "check"], remote())
    #expect(good.status == 0 && good.errors == "")
    #expect(good.lines.first?.hasSuffix("/team/: can be used") == true)
    #expect(good.text.contains("the same bytes came back"))
    #expect(good.text.contains("client_max_body_size") == false)
    for place in ["/portal/", "/closed/", "/reading/"] {
      let bad = try run(tool, ["remote", "check"], remote(place))
      #expect(bad.status == 1, "\(place): \(bad.text)")
      #expect(bad.text.contains("cannot be used"))
    }
    let gone = ["--remote", "http://127.0.0.1:\(try LoopbackListener.unusedPort())"]
    let unreached = try run(
      tool, ["remote", "check", "--json"], Array(remote().dropFirst(2)) + gone)
    #expect(unreached.status == 2)
    #expect(unreached.text.contains("\"reached\": false"))
  }

  @Test
  func `two machines share what may be shared`() throws {
    let origin = try makeOrigin()
    let (one, two) = (ToolRun(), ToolRun())
    let urls = ["\(origin.base)/a", "\(origin.base)/private"]
    let first = try run(one, ["fetch", "-q"] + urls, remote())
    #expect(first.status == 0 && first.errors == "")
    let second = try run(two, ["fetch", "-j", "1"] + urls, remote())
    #expect(second.lines.map { $0.prefix(6) } == ["remote", "stored"])
    #expect(second.errors.hasPrefix("1 fetched, 1 from the tier, 0 from the store, "))
    #expect(try run(two, ["fetch"] + urls, remote()).lines.allSatisfy { $0.hasPrefix("hit") })
    #expect(origin.requests.count == 3)
    let read = try run(two, ["fetch", "-o", "-", urls[0]], remote())
    #expect(read.text == "answer to /a")
  }

  @Test
  func `the secret may come from the environment`() throws {
    let origin = try makeOrigin()
    let (one, two) = (ToolRun(), ToolRun())
    _ = try run(one, ["fetch", "-q", "\(origin.base)/a"], remote())
    let words = [
      "/usr/bin/env", "OFFLINECACHE_REMOTE_SECRET=a secret of enough bytes",
      try ToolRun.executable(), "--store", two.store, "fetch", "\(origin.base)/a",
    ]
    let result = try two.run(
      program: (words + remote().filter { !$0.contains("secret-file") && !$0.hasSuffix("/key") })
        .map { Array($0.utf8) })
    #expect(result.text.hasPrefix("remote"), "\(result.text)\(result.errors)")
  }

  @Test
  func `a file that one machine has downloaded comes from the tier`() throws {
    let origin = try makeOrigin()
    let (one, two) = (ToolRun(), ToolRun())
    let folders = (TemporaryFolder(), TemporaryFolder())
    let url = "\(origin.base)/file"
    let first = try run(one, ["download", "--output-dir", folders.0.path, url], remote())
    #expect(first.status == 0 && first.text.hasPrefix("done "), "\(first.text)\(first.errors)")
    let second = try run(two, ["download", "--output-dir", folders.1.path, url], remote())
    #expect(second.status == 0 && second.text.hasPrefix("remote "), "\(second.text)")
    #expect(
      try Data(contentsOf: folders.1.url.appending(path: "file")) == Data("answer to /file".utf8))
    #expect(origin.requests.count == 1)
  }

  @Test
  func `stats adds up what the commands have got from the tier`() throws {
    let origin = try makeOrigin()
    let (one, two) = (ToolRun(), ToolRun())
    let urls = ["/a", "/b", "/private"].map { "\(origin.base)\($0)" }
    _ = try run(one, ["fetch", "-q"] + urls.dropLast(), remote())
    for url in urls { _ = try run(two, ["fetch", "-q", url], remote()) }
    let stats = try run(two, ["stats"], [])
    let row = try #require(stats.lines.first { $0.hasPrefix("tier 'default': hits") })
    #expect(row.contains(" 2  of 3 look-ups"), "\(row)")
    let json = try run(two, ["stats", "--json"], []).text
    for part in [
      "\"namespace\": \"default\"", "\"hits\": 2", "\"remote-absent\": 1", "\"offers_stored\": 0",
    ] { #expect(json.contains(part), "\(part) in \(json)") }
    let plain = ToolRun()
    _ = try run(plain, ["fetch", "-q", urls[0]], ["--proxy", "none"])
    #expect(try run(plain, ["stats", "--json"], []).text.contains("\"remote\": []"))
  }

  @Test
  func `offline, what is missing comes from the tier, and the origin is not asked`() throws {
    let origin = try makeOrigin()
    let (one, two) = (ToolRun(), ToolRun())
    let url = "\(origin.base)/a"
    _ = try run(one, ["fetch", "-q", url], remote())
    _ = try run(two, ["fetch", "-q", "\(origin.base)/b"], ["--proxy", "none"])
    #expect(try run(two, ["fetch", "--offline", url], []).status == 1)
    #expect(try run(two, ["fetch", "--offline", url], remote()).text.hasPrefix("remote"))
    #expect(try run(two, ["fetch", "--offline", "\(origin.base)/c"], remote()).status == 1)
    #expect(origin.requests.count == 2)
  }

  @Test
  func `stored responses are pushed, and a purge removes them everywhere`() throws {
    let origin = try makeOrigin()
    let (one, two) = (ToolRun(), ToolRun())
    let urls = ["/a", "/b/c", "/private"].map { "\(origin.base)\($0)" }
    _ = try run(one, ["fetch", "-q"] + urls, ["--proxy", "none"])
    let push = try run(one, ["remote", "push", origin.base], remote())
    #expect(push.text == "2 offered, 1 not to be shared, 0 failed\n")
    let reading = try run(one, ["remote", "push", "--remote-mode", "read"], remote())
    #expect(reading.status == 64)
    #expect(reading.errors.contains("'read'"))
    let fetch = try run(two, ["fetch", urls[0], urls[1]], remote())
    #expect(fetch.lines.allSatisfy { $0.hasPrefix("remote") }, "\(fetch.text)")
    #expect(
      try run(one, ["remote", "purge", "--prefix", "\(origin.base)/b/"], remote()).status == 0)
    let again = try run(two, ["fetch", "-j", "1", urls[0], urls[1]], remote())
    #expect(again.lines.map { $0.prefix(6) } == ["hit   ", "stored"])
    #expect(try run(one, ["remote", "purge", urls[0]], remote()).status == 0)
    #expect(try run(two, ["fetch", urls[0]], remote()).text.hasPrefix("stored"))
    #expect(try run(one, ["remote", "purge", "--all"], remote()).status == 0)
    #expect(
      try run(two, ["fetch", urls[0], urls[1]], remote()).lines
        .allSatisfy { $0.hasPrefix("stored") })
  }

  @Test
  func `with credentials that may only read nothing is written, and the message says so`() throws {
    let origin = try makeOrigin()
    let result = try run(ToolRun(), ["fetch", "\(origin.base)/a"], remote("/reading/"))
    #expect(result.status == 0)
    #expect(result.errors.contains("nothing is written to the remote tier any more"))
    let quiet = try run(
      ToolRun(), ["fetch", "-q", "\(origin.base)/a", "--remote-mode", "read"], remote("/reading/"))
    #expect(quiet.errors == "")
  }

  @Test
  func `a server that is gone does not keep a fetch from its answer`() throws {
    let origin = try makeOrigin()
    let port = try LoopbackListener.unusedPort()
    let gone = ["--remote", "http://127.0.0.1:\(port)/"] + remote().dropFirst(2)
    let result = try run(ToolRun(), ["fetch", "\(origin.base)/a"], gone)
    #expect(result.status == 0)
    #expect(result.text.hasPrefix("stored"))
    #expect(result.errors.contains("1 responses were not offered") || result.errors == "")
    let purge = try run(ToolRun(), ["remote", "purge", "--all"], gone)
    #expect(purge.status == 2)
    #expect(
      purge.errors
        == "offlinecache: http://127.0.0.1:\(port)/: the purge list was not written "
        + "(remote-unreachable); check the server, and purge again ('offlinecache remote check')\n")
  }

  @Test
  func `a wrong set-up is reported before anything is sent`() throws {
    let tool = ToolRun()
    let url = ["--remote", "http://127.0.0.1:1/"]
    let file = ["--remote-secret-file", "\(secret.path)/key"]
    for (arguments, words) in [
      (url, "there is no secret"), (file, "no server is named"),
      (["--remote", "http://a:b@127.0.0.1/"] + file, "credentials"),
      (["--remote", "http://127.0.0.1/?x"] + file, "query"),
      (url + file + ["--remote-namespace", "a/b"], "namespace"),
      (url + file + ["--remote-namespace", ""], "namespace"),
      (url + ["--remote-secret-file", "/dev/null"], "is empty"),
      (url + ["--remote-secret-file", "/no/such/file"], "cannot be read"),
      (url + file + ["--remote-s3-region", "eu"], "needs keys"),
    ] {
      let result = try run(tool, ["remote", "check"], arguments)
      #expect(result.status == 2 || result.status == 64, "\(arguments)")
      #expect(result.errors.contains(words), "\(result.errors)")
      #expect(!result.errors.contains("a:b"))
    }
  }
}
