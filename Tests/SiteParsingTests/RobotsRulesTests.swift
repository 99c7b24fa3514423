import HTTPSemantics
import SiteParsing
import TestSupport
import Testing

@Suite struct RobotsRulesTests {
  private func allows(_ text: String, _ target: String) throws -> Bool {
    try #require(RobotsRules(Array(text.utf8), for: "OfflineCache"))
      .allows(try NormalizedURL("http://a.test\(target)"))
  }

  @Test(arguments: [(0, true), (1, false)])
  func `too many different patterns cannot be obeyed`(more: Int, isRead: Bool) {
    let count = RobotsRules.maximumWildcards + more
    let lines = (0..<count).map { "Disallow: /*\($0)\n" } + ["Disallow: /*0\n", "Allow: /a\n"]
    let text = "User-agent: *\n" + lines.joined()
    #expect((RobotsRules(Array(text.utf8), for: "OfflineCache") != nil) == isRead)
  }

  /// The examples of RFC 9309, section 5, and of section 2.2.
  @Test(arguments: [
    ("/a", "/a/b", false), ("/a", "/b", true), ("/fish", "/fishheads", false),
    ("/fish/", "/fish", true), ("/fish*", "/fish.html", false), ("/*.php", "/a.php?b", false),
    ("/*.php$", "/a.php", false), ("/*.php$", "/a.php?b", true), ("/*.php$", "/a.php/b.php", false),
    ("/a*b*c$", "/a1b2c3c", false), ("/a*b*c$", "/ab", true), ("*/x", "/y/x", false),
    ("/a$", "/a", false), ("/a$", "/ab", true), ("/", "/", false), ("", "/a", true),
    ("/a%3cd.html", "/a%3Cd.html", false), ("/%7Ejoe/", "/~joe/a", false),
    ("/foo/bar/\u{30C4}", "/foo/bar/%E3%83%84", false),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz", false),
    ("/a-%2A.html", "/a-*.html", false), ("/a-%2A.html", "/a-b.html", true),
    ("/a-%24", "/a-$b", false), ("/.", "/a", true), ("/.git", "/.git/x", false), ("a", "/a", true),
    ("/a?b", "/a?bc", false), ("/", "/robots.txt", true), ("/***b", "/aab", false),
  ])
  func `a pattern matches from the start of the path`(
    pattern: String, target: String, isAllowed: Bool
  ) throws {
    #expect(try allows("User-agent: *\nDisallow: \(pattern)\n", target) == isAllowed)
  }

  @Test func `a pattern need not be UTF-8`() throws {
    let text = Array("User-agent: *\nDisallow: /caf".utf8) + [0xE9, 10]
    let rules = try #require(RobotsRules(text, for: "OfflineCache"))
    #expect(!rules.allows(try NormalizedURL("http://a.test/caf%E9/a")))
    for other in ["%C3%A9", "%EF%BF%BD"] {
      #expect(rules.allows(try NormalizedURL("http://a.test/caf\(other)")))
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `asterisks stand for anything in the path`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<200 {
      let target = "/" + String((0..<20).map { _ in "ab".randomElement(using: &random)! })
      let pattern =
        "/" + String((0..<8).map { _ in "aabb*".randomElement(using: &random)! })
        + ["", "$"].randomElement(using: &random)!
      let isMatch = Self.matches(pattern[...], target[...])
      let isAllowed = try allows("user-agent: *\ndisallow: \(pattern)", target)
      #expect(isAllowed != isMatch, "\(pattern) \(target)")
    }
  }

  /// Matches as RFC 9309, section 2.2.3, describes it, by trying everything.
  private static func matches(_ pattern: Substring, _ path: Substring) -> Bool {
    switch pattern.first {
    case nil: true
    case "$": path.isEmpty
    case "*":
      matches(pattern.dropFirst(), path) || !path.isEmpty && matches(pattern, path.dropFirst())
    case let letter: letter == path.first && matches(pattern.dropFirst(), path.dropFirst())
    }
  }

  @Test func `the longest pattern decides, and allowing wins`() throws {
    let text = "user-agent: *\ndisallow: /a\nallow: /a/b\ndisallow: /a/b/c\nallow: /d\ndisallow: /d"
    for (target, isAllowed) in [("/a/x", false), ("/a/b/x", true), ("/a/b/c", false), ("/d", true)]
    {
      #expect(try allows(text, target) == isAllowed, "\(target)")
    }
    #expect(try allows("user-agent: *\nallow: /page\ndisallow: /*.htm", "/page.htm") == false)
  }

  @Test func `the groups for this crawler count, else those for all`() throws {
    let text = """
      \u{FEFF}# comment
      User-Agent: other
      Disallow: /other
      User-agent : OFFLINECACHE/1.0 # that is us
      Sitemap: http://a.test/x
      User-agent: third
      Disallow: /own # and more

      Disallow: /also\r
      User-agent: *
      Disallow: /
      User-agent: offlinecache
      Disallow: /later
      """
    for (target, isAllowed) in [
      ("/other", true), ("/own", false), ("/also", false), ("/later", false), ("/x", true),
    ] { #expect(try allows(text, target) == isAllowed, "\(target)") }
    #expect(try allows("user-agent: offlinecacher\ndisallow: /", "/a"))
    #expect(try allows("user-agent: *\ndisallow: /\nuser-agent: offlinecache\ndisallow:", "/a"))
    #expect(try allows("disallow: /", "/a"))
    #expect(try allows("user-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b", "/b") == false)
  }

  @Test func `a file of 10 MB is read up to the limit`() throws {
    let line = "disallow: /\(String(repeating: "a", count: 89))\n"
    let many = String(repeating: line, count: 100_000)
    #expect(try allows("user-agent: *\ndisallow: /b\n" + many + "disallow: /c\n", "/b") == false)
    #expect(try allows("user-agent: *\ndisallow: /b\n" + many + "disallow: /c\n", "/c"))
    // The line at the limit is cut, and would forbid more than it says.
    let start = "user-agent: *\n"
    let filler = String(repeating: "#", count: RobotsRules.maximumBytes - start.utf8.count - 13)
    #expect(try allows("\(start)\(filler)\ndisallow: /abc\n", "/axy"))
  }
}
