import CLibrary
import LoopbackOrigin
import NginxOrigin
import Testing
import ToolTesting

/// `serve --intercept`, in front of a server with TLS.
@Suite(.timeLimit(.minutes(2)), .enabled(if: NginxOrigin.isInstalled))
struct ServeInterceptTests {
  private let state = TemporaryFolder()
  private var authority: String { "\(state.path)/offlinecache/ca.pem" }

  private func ca(_ words: String...) throws -> ToolResult {
    let program = ["/usr/bin/env", "XDG_STATE_HOME=\(state.path)", try ToolRun.executable(), "ca"]
    return try ToolRun().run(program: (program + words).map { Array($0.utf8) })
  }

  /// A server with TLS in front of an origin; its certificate is for localhost and 127.0.0.1.
  private func secure(_ origin: LoopbackOrigin, _ folder: TemporaryFolder) throws -> Serving {
    try Serving(
      "--origin", origin.base, "--tls-cert", "\(folder.path)/good.pem", "--tls-key",
      "\(folder.path)/good.key", "--log", "none")
  }

  private func port(of serving: Serving) -> String {
    String(serving.base.split(separator: ":").last ?? "")
  }

  private func end(_ servings: Serving...) throws -> [ToolResult] {
    for serving in servings { serving.running.child.send(SIGTERM) }
    return try servings.map { try $0.running.finish() }
  }

  private func fetch(
    _ url: String, by proxy: Serving, trusting authority: String
  ) throws -> ToolResult {
    try ToolRun().run(
      "fetch", "--proxy", proxy.base, "--ca-file", authority, "--refresh", url, "-o", "-")
  }

  @Test func `https goes through the store, and is there without the server`() async throws {
    let folder = try await Certificates.make()
    let origin = try LoopbackOrigin()
    origin.set("/a", OriginAnswer("hello", fields: ["Cache-Control: max-age=3600"]))
    origin.set("/go", OriginAnswer(status: 302, fields: ["Location: /a"]))
    let server = try secure(origin, folder)
    #expect(try ca("create").status == 0)
    let port = port(of: server)
    let store = ToolRun()
    func start(_ more: String) throws -> Serving {
      try Serving(
        "--intercept", "--connect-port", port, "--ca-file", "\(folder.path)/ca.pem", more,
        on: store, state: state.path)
    }
    let online = try start("--private")
    for host in ["localhost", "127.0.0.1"] {
      let url = "https://\(host):\(port)"
      #expect(try fetch("\(url)/a", by: online, trusting: authority).text == "hello")
      #expect(try fetch("\(url)/go", by: online, trusting: authority).text == "hello")
      // Its own pages are those of the server.
      #expect(try fetch("\(url)/.offlinecache/x", by: online, trusting: authority).status == 1)
    }
    let log = try end(online)[0]
    #expect(log.lines.contains { $0.contains("\"GET https://localhost:\(port)/a\" 200 5") })
    _ = try end(server)
    origin.stop()
    // The next server tells its address in a file of its own.
    for name in try names(in: store.folder) where name.hasPrefix("stderr-") {
      _ = unsafe unlink(store.path(name))
    }
    let offline = try start("--offline")
    // A client that does not trust the authority does not keep others from what is stored.
    for _ in 0..<2 {
      let url = "https://localhost:\(port)/a"
      #expect(try fetch(url, by: offline, trusting: "\(folder.path)/ca.pem").status != 0)
    }
    for path in ["a", "go"] {
      let url = "https://localhost:\(port)/\(path)"
      let result = try fetch(url, by: offline, trusting: authority)
      #expect(result.text == "hello", "\(result.errors)")
    }
    #expect(try end(offline)[0].status == 0)
  }

  @Test
  func `a host whose client does not trust the authority is tunnelled, as one that is excluded`()
    async throws
  {
    let folder = try await Certificates.make()
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("hello"))
    let server = try secure(origin, folder)
    #expect(try ca("create", "--days", "2").status == 0)
    let port = port(of: server)
    let proxy = try Serving(
      "--intercept", "--connect-port", port, "--ca-file", "\(folder.path)/ca.pem", "--tunnel",
      "127.0.0.1", state: state.path)
    let (own, url) = ("\(folder.path)/ca.pem", "https://localhost:\(port)/a")
    #expect(try fetch("https://127.0.0.1:\(port)/a", by: proxy, trusting: own).text == "hello")
    // Two connections show that the client does not accept the certificate; the tool may try again by
    // itself.
    for _ in 0..<2 { _ = try fetch(url, by: proxy, trusting: own) }
    #expect(try fetch(url, by: proxy, trusting: own).text == "hello")
    let page = try proxy.client.run("fetch", proxy.base + "/.offlinecache/status", "-o", "-")
    #expect(page.text.contains("\"left_alone\""))
    #expect(
      page.text.contains("\"host\":\"localhost\"") || page.text.contains("\"host\": \"localhost\""))
    let html = try proxy.client.run("fetch", proxy.base + "/.offlinecache/", "-o", "-").text
    #expect(html.contains("localhost. Nothing of these is stored."))
    #expect(html.contains("<code>offlinecache ca trust</code>"))
    let log = try end(proxy)[0]
    #expect(log.lines.contains { $0.contains("has not accepted our certificate") })
    for text in [log.text, log.errors] { #expect(text.contains("start the proxy again")) }
    _ = try end(server)
  }

  @Test func `a host outside of the name constraints is tunnelled at once`() async throws {
    let folder = try await Certificates.make()
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", OriginAnswer("hello"))
    let server = try secure(origin, folder)
    #expect(try ca("create", "--name-constraint", "a.test").status == 0)
    let proxy = try Serving(
      "--intercept", "--connect-port", port(of: server), "--log", "none", state: state.path)
    for host in ["localhost", "127.0.0.1"] {
      let url = "https://\(host):\(port(of: server))/a"
      let result = try fetch(url, by: proxy, trusting: "\(folder.path)/ca.pem")
      #expect(result.text == "hello", "\(result.errors)")
    }
    let page = try proxy.client.run("fetch", proxy.base + "/.offlinecache/status", "-o", "-").text
    #expect(page.contains("\"left_alone\"") && !page.contains("\"host\""))
    #expect(try end(proxy)[0].status == 0)
    _ = try end(server)
  }

  @Test func `requests for another host are refused`() async throws {
    let folder = try await Certificates.make()
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    let server = try secure(origin, folder)
    #expect(try ca("create", "--name-constraint", "localhost").status == 0)
    let port = port(of: server)
    let proxy = try Serving(
      "--intercept", "--connect-port", port, "--ca-file", "\(folder.path)/ca.pem", "--log", "none",
      state: state.path)
    func curl(_ words: String...) throws -> String {
      let start = ["/usr/bin/env", "curl", "-s", "-x", proxy.base, "--cacert", authority]
      return try ToolRun().run(program: (start + words).map { Array($0.utf8) }).text
    }
    let status = ["-o", "/dev/null", "-w", "%{http_code}"]
    #expect(
      try curl(
        "-H", "Host: other.test", "https://localhost:\(port)/a", status[0], status[1],
        status[2], status[3]) == "421")
    #expect(
      try curl(
        "--request-target", "https://other.test:\(port)/a", "https://localhost:\(port)/a",
        status[0],
        status[1], status[2], status[3]) == "421")
    #expect(
      try curl("https://localhost:\(port)/a", status[0], status[1], status[2], status[3]) == "404")
    // The authority may not vouch for it.
    #expect(
      try curl("https://127.0.0.2:\(port)/", status[0], status[1], status[2], status[3]) == "000")
    // Not to the proxy itself, and not to other ports.
    let own = String(proxy.base.dropFirst("http://127.0.0.1:".count))
    let client = try TunnelClient(own)
    #expect(client.ask("CONNECT localhost:22 HTTP/1.1\r\nHost: a\r\n\r\n").contains(" 403 "))
    _ = try end(proxy, server)
  }

  @Test(arguments: [
    (["-servername", "localhost"], true), (["-noservername"], true),
    (["-servername", "LOCALHOST", "-tls1_2"], true), (["-servername", "other.test"], false),
    (["-servername", "*"], false), (["-servername", String(repeating: "a", count: 300)], false),
    (["-tls1_1", "-cipher", "ALL@SECLEVEL=0"], false),
    (["-tls1", "-cipher", "ALL@SECLEVEL=0"], false),
  ])
  func `a handshake is for the host of CONNECT, by TLS 1.2 or later`(
    options: [String], isAccepted: Bool
  ) throws {
    #expect(try ca("create").status == 0)
    let proxy = try Serving(
      "--intercept", "--connect-port", "1", "--log", "none", state: state.path)
    let own = String(proxy.base.dropFirst("http://".count))
    let words = ["/usr/bin/env", "openssl", "s_client", "-proxy", own, "-connect", "localhost:1"]
    let result = try ToolRun().run(program: (words + options).map { Array($0.utf8) })
    #expect(result.text.contains("BEGIN CERTIFICATE") == isAccepted, "\(result.errors)")
    _ = try end(proxy)
  }

  @Test func `the authority is made once, shown, explained and removed`() throws {
    #expect(try ca("show").status == 1)
    #expect(try ca("trust").status == 1)
    #expect(try ca("create").status == 0)
    #expect(try ca("create").errors.contains("ca remove"))
    let shown = try ca("show").text
    #expect(shown.contains(authority) && shown.contains("sha256"))
    let trust = try ca("trust")
    #expect(trust.text.contains("export SSL_CERT_FILE='\(state.path)/offlinecache/ca-bundle.pem'"))
    var facts = stat()
    for name in ["ca.key", "ca.pem", "ca-bundle.pem"] {
      #expect(unsafe stat("\(state.path)/offlinecache/\(name)", &facts) == 0)
      #expect(facts.st_mode & 0o777 == 0o600)
    }
    #expect(try ca("remove").status == 0)
    #expect(try ca("show").status == 1)
    #expect(unsafe stat("\(state.path)/offlinecache/ca.key", &facts) != 0)
  }

  @Test func `what does not go with it is refused`() throws {
    let tool = ToolRun()
    for words in [
      ["--intercept", "--origin", "http://a"], ["--intercept", "--shared"], ["--tunnel", "a.test"],
      ["--intercept", "--tunnel", "*"],
    ] {
      let result = try tool.run(bytes: (["serve"] + words).map { Array($0.utf8) })
      #expect(result.status == 64, "\(words)")
    }
  }
}
