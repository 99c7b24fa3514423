import CLibrary
import LoopbackOrigin
import NginxOrigin
import Testing
import ToolTesting

@Suite(.timeLimit(.minutes(2))) struct ServeTunnelTests {
  private func page(_ text: String) -> OriginAnswer {
    OriginAnswer(text, fields: ["Cache-Control: max-age=3600"])
  }

  @Test func `a forward proxy opens tunnels to more ports and other addresses on request`() throws {
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    let serving = try Serving(
      "--connect-port", "\(origin.port)", "--resolve", "nowhere.invalid:\(origin.port):127.0.0.1")
    func ask(_ host: String, _ port: Int) throws -> String {
      let client = try TunnelClient(String(serving.base.dropFirst("http://127.0.0.1:".count)))
      let first = client.ask("CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      guard first.contains(" 200 ") else { return first }
      return client.ask("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    }
    for host in ["nowhere.invalid", "127.0.0.1"] {
      let text = try ask(host, Int(origin.port))
      #expect(text.hasPrefix("HTTP/1.1 200 Status"), "\(text)")
    }
    #expect(try ask("127.0.0.1", 22).contains("--connect-port 22"))
    serving.running.child.send(SIGTERM)
    let result = try serving.running.finish()
    #expect(result.status == 0)
    #expect(result.lines.count == 3)
    // Connections are logged in the order in which they end.
    let answered = "\"CONNECT nowhere.invalid:\(origin.port)\" 200 "
    #expect(result.lines.contains { $0.contains(answered) })
  }

  @Test(.enabled(if: NginxOrigin.isInstalled))
  func `clients of a reverse proxy use TLS, and SIGHUP reads the certificate again`() async throws {
    let folder = try await Certificates.make()
    let origin = try LoopbackOrigin()
    defer { origin.stop() }
    origin.set("/a", page("hello"))
    let (certificate, key) = (folder.path + "/use.pem", folder.path + "/use.key")
    func install(_ name: String) throws {
      for (suffix, path) in [("pem", certificate), ("key", key)] {
        _ = unsafe unlink(path)
        let result = unsafe link("\(folder.path)/\(name).\(suffix)", path)
        try #require(result == 0)
      }
    }
    try install("self")
    let serving = try Serving(
      "--origin", origin.base, "--tls-cert", certificate, "--tls-key", key, "--log", "none")
    #expect(serving.base.hasPrefix("https://127.0.0.1:"))
    func fetch(_ authorities: String) throws -> String {
      try serving.client.run(
        "fetch", "--refresh", "--ca-file", "\(folder.path)/\(authorities).pem", serving.base + "/a",
        "-o", "-"
      ).text
    }
    #expect(try fetch("self") == "hello")
    #expect(try fetch("ca") == "")
    try install("good")
    serving.running.child.send(SIGHUP)
    try serving.running.child.wait { try fetch("ca") == "hello" }
    // A key that cannot be used leaves the present one in use.
    _ = unsafe unlink(key)
    serving.running.child.send(SIGHUP)
    #expect(try fetch("ca") == "hello")
    serving.running.child.send(SIGTERM)
    let result = try serving.running.finish()
    #expect(result.status == 0)
    #expect(result.errors.contains("the present certificate stays in use"))
    #expect(origin.requests.count == 1)
  }

  @Test func `a certificate that cannot be read is an error`() throws {
    let tool = ToolRun()
    let result = try tool.run(
      "serve", "--origin", "http://a", "--tls-cert", tool.path("no"), "--tls-key", tool.path("no"))
    #expect(result.status == 2)
    #expect(result.errors.contains("cannot be read"))
  }
}
