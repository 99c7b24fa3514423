import Foundation
import LoopbackOrigin
import MessageDigests
import NginxOrigin
import Testing
import ToolTesting

@Suite struct NetworkOptionsTests {
  private static let servers = """
    server { listen PORT0 ssl; ssl_certificate FOLDER/good.pem;
      ssl_certificate_key FOLDER/good.key; ssl_client_certificate FOLDER/ca.pem;
      ssl_verify_client optional; location / { return 200 "hello $ssl_client_s_dn"; }
      location /away { return 302 http://127.0.0.1:1/; }
      location /plain { return 302 http://PORT1/; } }
    server { listen PORT1; location / { return 200 "hello"; } }
    """

  /// Needs nginx and openssl of Debian.
  @Test(.enabled(if: NginxOrigin.isInstalled, "nginx and openssl are not installed"))
  func `authorities, pins and client certificates are taken from the command line`() async throws {
    let folder = try await Certificates.make()
    let origin = try await NginxOrigin(Self.servers, in: folder, ports: 2)
    let key = try await Certificates.der("good", in: folder.url, publicKey: true)
    let pin = Data(MessageDigest.of(key, .sha256)).base64EncodedString()
    let certificate = try await Certificates.der("good", in: folder.url)
    let print = MessageDigest.of(certificate, .sha256).map { String(format: "%02X", $0) }
    let tool = ToolRun()
    func fetch(_ arguments: String...) throws -> (status: Int32, text: String, errors: String) {
      let all = ["fetch", origin.address(), "-o", "-", "--proxy", "none"] + arguments
      let run = try tool.run(bytes: all.map { Array($0.utf8) })
      return (run.status, run.text, run.errors)
    }
    let ours = "\(folder.path)/ca.pem"
    #expect(try fetch().status == 2)
    #expect(try fetch("--ca-file", ours).text == "hello ")
    #expect(try fetch("--ca-file", ours, "--pin", "LOCALHOST=sha256/\(pin)").text == "hello ")
    #expect(
      try fetch("--ca-file", ours, "--pin", "localhost=\(print.joined(separator: ":"))").text
        == "hello ")
    let other = "localhost=" + String(repeating: "00", count: 32)
    let wrong = try fetch("--ca-file", ours, "--pin", other)
    #expect(wrong.status == 2)
    #expect(wrong.errors.contains("localhost has the key sha256/\(pin)"))
    #expect(
      try fetch("--ca-file", ours, "--pin", other, "--pin", "localhost=sha256/\(pin)").status == 0)
    let port = try fetch("--ca-file", ours, "--pin", "localhost:443=sha256/\(pin)")
    #expect(port.status == 64)
    #expect(port.errors.contains("give a host and a pin such as"))
    let cut = try fetch("--pin", "localhost=sha256/AAAA")
    #expect(cut.status == 64)
    #expect(cut.errors.contains("'sha256/AAAA': it has 3 bytes in place of the 32 of a SHA-256"))
    let known = try fetch(
      "--ca-file", ours, "--client-cert", "\(folder.path)/client.pem", "--client-key",
      "\(folder.path)/client.key")
    #expect(known.text == "hello CN=somebody")
    let missing = try fetch("--ca-file", "\(folder.path)/missing")
    #expect(missing.status == 2)
    #expect(missing.errors.contains("missing: cannot be read"))
    let away = ["fetch", origin.address("/away"), "--proxy", "none", "--ca-file", ours, "-o", "-"]
    let refused = try tool.run(bytes: away.map { Array($0.utf8) })
    #expect(refused.status == 2)
    #expect(refused.errors.contains("the redirect leads from https to http"))
    #expect(refused.errors.hasSuffix(", or allow such redirects (--insecure-redirects)\n"))
    let followed = try tool.run(bytes: (away + ["--insecure-redirects"]).map { Array($0.utf8) })
    #expect(followed.status == 2)
    #expect(followed.errors.contains("http://127.0.0.1:1/: no connection can be made"))
    let rest = [origin.address("/plain"), "--proxy", "none", "--ca-file", ours]
    let crawled = try tool.run(bytes: (["crawl"] + rest).map { Array($0.utf8) })
    #expect(crawled.status == 2)
    #expect(crawled.text.hasSuffix(", or allow such redirects (--insecure-redirects)\n"))
    let copies = rest + ["--output-dir", tool.path("out")]
    let allow = ["--insecure-redirects"]
    let got = try tool.run(bytes: (["download"] + copies + allow).map { Array($0.utf8) })
    #expect(got.status == 0, "\(got.errors)")
    let check = try tool.run(bytes: (["check"] + copies).map { Array($0.utf8) })
    #expect(check.status == 2)
    #expect(check.errors.hasSuffix(", or allow such redirects (--insecure-redirects)\n"))
    let checked = try tool.run(bytes: (["check"] + copies + allow).map { Array($0.utf8) })
    #expect(checked.errors == "" && checked.status != 2, "\(checked.text)")
  }

  @Test(arguments: ["http://", "http://proxy:99999", "socks5://[::1", "ftp://proxy", "proxy:80"])
  func `a proxy that cannot be one is a usage error`(url: String) throws {
    let run = try ToolRun().run("fetch", "http://127.0.0.1:1/", "--proxy", url)
    #expect(run.status == 64)
    #expect(run.errors.contains("'\(url)' is no value for --proxy; give environment, none, or"))
  }

  @Test func `credentials in the store are concealed with the key that is named`() throws {
    let tool = ToolRun()
    let origin = try LoopbackOrigin { _ in
      OriginAnswer("page", fields: ["Cache-Control: max-age=3600"])
    }
    defer { origin.stop() }
    let key = tool.path("key")
    func fetch(_ arguments: String...) throws -> ToolResult {
      let all =
        ["fetch", origin.url("/a").absoluteString, "-o", "-"]
        + ["-H", "Authorization: Bearer 123456"] + arguments
      return try tool.run(bytes: all.map { Array($0.utf8) })
    }
    #expect(try fetch("--fingerprint-key", key).text == "page")
    #expect(try tool.read(key).count == 32)
    #expect(try fetch("--offline", "--fingerprint-key", key).text == "page")
    #expect(try fetch("--offline", "--fingerprint-key", tool.path("other")).status == 1)
    let bad = try fetch("--offline", "--fingerprint-key", "/dev/null")
    #expect(bad.status == 2)
    #expect(bad.errors.contains("/dev/null: it is no plain file; move it away"))
  }

  @Test func `the proxy of the environment is used but for what no_proxy names`() throws {
    let tool = ToolRun()
    let proxy = try LoopbackOrigin { _ in OriginAnswer("by proxy") }
    let origin = try LoopbackOrigin { _ in OriginAnswer("directly") }
    defer {
      proxy.stop()
      origin.stop()
    }
    let address = proxy.url().absoluteString
    func fetch(_ exception: String, _ arguments: [String] = []) throws -> String {
      let words =
        ["/usr/bin/env", "http_proxy=\(address)", "no_proxy=\(exception)"]
        + [try ToolRun.executable(), "--store", tool.store, "fetch"]
        + [origin.url("/a").absoluteString, "-o", "-", "--refresh"] + arguments
      return try tool.run(program: words.map { Array($0.utf8) }).text
    }
    #expect(try fetch("") == "by proxy")
    #expect(try fetch("example.org,127.0.0.1") == "directly")
    #expect(try fetch("", ["--proxy", "none"]) == "directly")
    #expect(try fetch("", ["--proxy", address]) == "by proxy")
    #expect(try fetch("127.0.0.1", ["--proxy", address]) == "directly")
  }
}
