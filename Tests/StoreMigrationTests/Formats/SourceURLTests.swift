import CacheFormat
import Testing

@testable import StoreMigration

struct SourceURLTests {
  @Test(
    arguments: [
      ("no colon", SkipReason.badURL), (":", .badURL), ("1http://h/", .badURL),
      ("file:///etc/passwd", .notHTTPURL), ("JavaScript:x", .notHTTPURL), ("http://", .badURL),
      ("http://h/\u{FFFD}", .badURL), ("http://h/a\nb", .badURL), ("http://a b/", .badURL),
    ])
  func `what is no URL of an entry is skipped with its reason`(text: String, expected: SkipReason) {
    let error = #expect(throws: RowError.self) { try SourceURL.check(text) }
    guard case .skip(let reason, _)? = error else { return #expect(Bool(false), "not skipped") }
    #expect(reason == expected)
  }

  @Test(arguments: [
    "http://h/", "HTTPS://User:pw@H:8080/a[1]?b#c", "http://h/\u{E4} {b}", "http://h/\u{A0}",
  ])
  func `a URL is taken as its client wrote it`(text: String) {
    #expect(throws: Never.self) { try SourceURL.check(text) }
  }

  @Test(
    arguments: [
      ("http://u:p@h/", "u:p"), ("http://u@h/", "u:"), ("http://a@b:c@h/", "a@b:c"),
      ("http://%C3%A4:%3A@h/", "\u{E4}::"), ("http://h/a@b", nil), ("http://h?a@b", nil),
      ("http://@h/", nil), ("mailto:a@b", nil),
    ] as [(String, String?)])
  func `user name and password become a credential`(text: String, expected: String?) {
    #expect(SourceURL.credentials(in: text) == expected.map { Base64.encode(Array($0.utf8)) })
  }

  @Test(
    arguments: [
      ("http://h/a.PNG", "png"), ("http://h/a.tar.gz?b.c#d.e", "gz"), ("http://h/a.b/c", ""),
      ("http://h/a.", ""), ("http://h.org/", ""), ("a.png", ""),
    ])
  func `an extension is that of the last component of the path`(text: String, expected: String) {
    #expect(SourceURL.pathExtension(text) == expected)
  }
}
