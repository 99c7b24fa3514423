import HTTPSemantics
import TestSupport
import Testing

struct NormalizedURLTests {
  @Test(
    "equivalent URLs have one normal form (RFC 3986, sections 6.2.2 and 6.2.3)",
    arguments: [
      // Case of scheme and host, never of the path.
      ("HTTP://Example.COM/Path", "http://example.com/Path"),
      // Default and empty ports, leading zeros.
      ("http://h:80/", "http://h/"), ("https://h:443/", "https://h/"), ("http://h:/", "http://h/"),
      ("http://h:443/", "http://h:443/"), ("http://h:0080/", "http://h/"),
      ("http://h:65535/", "http://h:65535/"),
      // Empty path.
      ("http://h", "http://h/"), ("http://h?q", "http://h/?q"), ("http://h#f", "http://h/"),
      // Fragment and user-info.
      ("http://h/a#f?x", "http://h/a"), ("http://u:p@h/a", "http://h/a"),
      ("http://u@p@h/a", "http://h/a"), ("http://@h/", "http://h/"),
      ("http://good.example:80@evil.example/", "http://evil.example/"),
      // Escapes: unreserved ones decoded, others in upper case, never twice.
      ("http://h/%7e%41%2d%5F", "http://h/~A-_"), ("http://h/a%2fb", "http://h/a%2Fb"),
      ("http://h/%2541", "http://h/%2541"), ("http://h/?q=%c3%a4", "http://h/?q=%C3%A4"),
      ("http://h/%00", "http://h/%00"), ("http://h/%0d%0aX:%20y", "http://h/%0D%0AX:%20y"),
      ("http://%45x.org/", "http://ex.org/"),
      // A percent sign that starts no escape, also where decoding would make it start one.
      ("http://h/%", "http://h/%25"), ("http://h/%4", "http://h/%254"),
      ("http://h/%zz", "http://h/%25zz"), ("http://h/%%341", "http://h/%2541"),
      // Bytes that must be escaped.
      ("http://h/a b\"<>\\^`{}", "http://h/a%20b%22%3C%3E%5C%5E%60%7B%7D"),
      ("http://h/ä?ö", "http://h/%C3%A4?%C3%B6"), ("http://h/[x]|?[y]|", "http://h/[x]|?[y]|"),
      // Dot segments, also escaped ones; not in the query.
      ("http://h/a/./b/../c", "http://h/a/c"), ("http://h/../../x", "http://h/x"),
      ("http://h/a/..", "http://h/"), ("http://h/a/.", "http://h/a/"), ("http://h/.", "http://h/"),
      ("http://h/%2E%2e/x", "http://h/x"), ("http://h/a/%2e%2E/%2e/b", "http://h/b"),
      ("http://h/?a/../b", "http://h/?a/../b"), ("http://h/...", "http://h/..."),
      ("http://h/.a/..b", "http://h/.a/..b"),
      // Empty segments and an empty query are not nothing.
      ("http://h//a///b/", "http://h//a///b/"), ("http://h/a//../b", "http://h/a/b"),
      ("http://h/?", "http://h/?"), ("http://h/??", "http://h/??"),
      // IPv6.
      ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
      ("http://[::1]", "http://[::1]/"),
    ])
  func normalForm(text: String, expected: String) throws {
    let url = try NormalizedURL(text)
    #expect(url.string == expected)
    #expect(try NormalizedURL(url.string) == url, "normalising twice changes nothing")
  }

  @Test("ten thousand dot segments are no work to speak of")
  func manyDotSegments() throws {
    let text = "http://h/" + String(repeating: "a/../", count: 10_000) + "x"
    #expect(try NormalizedURL(text).target == "/x")
  }

  @Test("the parts are given")
  func parts() throws {
    let url = try NormalizedURL("https://User@Host:8443/a/../b?c#d")
    #expect(url.scheme == .https)
    #expect(url.host == "host")
    #expect(url.port == 8443)
    #expect(url.target == "/b?c")
    #expect(try NormalizedURL("https://h").port == 443)
  }

  @Test("random bytes are refused or normalised, and normalising twice changes nothing")
  func randomBytes() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed of randomBytes: \(seed)")
    var random = SplitMix64(seed: seed)
    let alphabet = Array("@:[]%%%23461eE./?#\\ a~\u{E4}\u{7F}".utf8)
    var taken = 0
    for _ in 0..<20_000 {
      let count = Int.random(in: 0..<24, using: &random)
      let tail = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
      let text = "http://h" + String(decoding: tail, as: UTF8.self)
      guard let url = try? NormalizedURL(text) else { continue }
      taken += 1
      #expect(try NormalizedURL(url.string).string == url.string, "of \(text)")
      #expect(url.string.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "of \(text)")
    }
    #expect(taken > 100)
  }

  @Test(arguments: [
    "/", "/a/b?c=d&e", "/a%2Fb", "/%7euser", "/a/../b", "/.well-known/x", "/a b", "//x", "/a#b",
    "/é", "/a?b=/../c", "/a/.", "/[x]|y",
  ])
  func `another target of a server is what the whole URL would be`(target: String) throws {
    let server = try NormalizedURL("http://Example.org:8080/old?query")
    let made = try server.replacingTarget(target)
    let whole = try NormalizedURL("http://example.org:8080\(target)")
    #expect(made == whole)
    #expect(made.target == whole.target)
    #expect(made.port == 8080)
  }

  @Test func `a target without a slash is no target`() throws {
    let server = try NormalizedURL("http://example.org/")
    #expect(throws: InvalidURL.self) { try server.replacingTarget("a") }
    #expect(throws: InvalidURL.self) { try server.replacingTarget("") }
    #expect(throws: InvalidURL.self) { try server.replacingTarget("@evil.example/") }
  }
}
