import HTTPSemantics
import Testing

@testable import offlinecache

@Suite struct OutputPathTests {
  @Test(
    arguments: [
      ("http://a.example/", "http/a.example/index.html"),
      ("http://a.example", "http/a.example/index.html"),
      ("https://a.example/x/y.html", "https/a.example/x/y.html"),
      ("http://a.example:8080/x", "http/a.example:8080/x"),
      ("http://a.example/two%20words/%C3%BC", "http/a.example/two words/ü"),
      ("http://a.example/x?q=1/2&r=%2F", "http/a.example/x?q=1%2f2&r=%2F"),
      ("http://a.example/x?", "http/a.example/x?"),
      ("http://a.example/x%3Fq", "http/a.example/x%3Fq"),
      ("http://a.example/100%25", "http/a.example/100%25"),
      ("http://a.example/a//b", "http/a.example/a/%/b"),
      ("http://a.example/a/", "http/a.example/a/index.html"),
      ("http://a.example/..%2F..%2Fetc", "http/a.example/..%2F..%2Fetc"),
      ("http://a.example/../../etc", "http/a.example/etc"),
      ("http://a.example/%2E%2E/x", "http/a.example/x"),
      ("http://a.example/%00%0A", "http/a.example/%00%0A"),
      ("http://a.example/#part", "http/a.example/index.html"),
      ("http://[::1]:80/x", "http/[::1]/x"),
    ])
  func `a url becomes a path that stays in its folder`(url: String, path: String) throws {
    let bytes = OutputPath.path(for: try NormalizedURL(url))
    #expect(String(decoding: bytes, as: UTF8.self) == path)
  }

  @Test(
    arguments: [
      ("http://a.example/x/", "index.html"), ("http://a.example/%C3%BC", "ü"),
      ("http://a.example/%FF", "%FF"), ("http://a.example/%FE", "%FE"),
      ("http://a.example/%25FF", "%25FF"), ("http://a.example/%C3%BC%FF%20", "%C3%BC%FF "),
    ])
  func `a file name is text`(url: String, name: String) throws {
    #expect(OutputPath.fileName(for: try NormalizedURL(url)) == name)
  }

  @Test(
    arguments: [
      ("", 255, ""), ("", 256, ""), (".html", 250, ".html"), (".html", 251, ".html"),
      (".tar.gz", 400, ".tar.gz"), (".a-very-long-extension", 300, ""), (".", 300, "."),
      (".no%2Fe", 300, ".no%2Fe"),
    ])
  func `a file name has at most 255 bytes, and keeps its extension`(
    end: String, count: Int, kept: String
  ) throws {
    let stem = String(repeating: "x", count: count)
    let name = OutputPath.fileName(for: try NormalizedURL("http://a.example/\(stem)\(end)"))
    #expect(name.utf8.count == 255 && name.hasSuffix("x" + kept))
    // No character is cut.
    let text = String(repeating: "%E2%82%AC", count: 100)
    let euros = OutputPath.fileName(for: try NormalizedURL("http://a.example/\(text)\(end)"))
    #expect(euros.utf8.count > 252 && euros.utf8.count <= 255)
    #expect(euros.hasPrefix("€€") && euros.hasSuffix(kept) && !euros.contains("\u{FFFD}"))
  }

  @Test func `a part of a path that is too long for a file is shortened, with a digest`() throws {
    func names(_ end: String) throws -> [String] {
      let url = try NormalizedURL("http://a.example/\(end)")
      return String(decoding: OutputPath.path(for: url), as: UTF8.self)
        .split(separator: "/").dropFirst(2).map(String.init)
    }
    let long = String(repeating: "x", count: 300)
    #expect(try names(String(long.prefix(254))) == [String(long.prefix(254))])
    #expect(try names(String(long.prefix(252)) + "?q") == [String(long.prefix(252)) + "?q"])
    var all: Set<String> = []
    for end in [
      long, long + "y", long + ".html", long + "?a=1", long + "?a=2", "?\(long)", "?\(long)/",
    ] {
      let found = try names(end)
      #expect(found.count == 1 && found[0].utf8.count <= 254, "\(found)")
      all.insert(found[0])
    }
    #expect(all.count == 7)
    #expect(try names(long + "/" + long + ".html").allSatisfy { $0.utf8.count <= 254 })
    #expect(try names(long + ".html")[0].hasSuffix(".html"))
  }

  @Test func `bytes that are not text are kept`() throws {
    let path = OutputPath.path(for: try NormalizedURL("http://a.example/%FF%FE"))
    #expect(path == Array("http/a.example/".utf8) + [0xFF, 0xFE])
  }
}
