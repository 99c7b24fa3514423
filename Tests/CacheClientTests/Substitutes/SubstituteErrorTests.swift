import Testing

@testable import CacheClient

@Suite struct SubstituteErrorTests {
  private let folder = SubstituteFolder()

  @Test func `file, line, problem and remedy stand in one line`() {
    let place = SubstitutePlace(subject: "table", line: 7)
    #expect(
      SubstituteError(place, "is wrong", remedy: "mend it").description
        == "table:7: is wrong; mend it")
    let file = SubstitutePlace(subject: "table", line: nil)
    #expect(
      SubstituteError(file, "is wrong", remedy: "mend it").description == "table: is wrong; mend it"
    )
  }

  /// Patterns that are no URL, and what is said of them.
  private static let bad = [
    ("nothing", "nothing: the URL has no scheme; write it with http:// or https:// in front"),
    ("ftp://h/a", "ftp://h/a: the scheme is not supported; only http and https are"),
    ("", "'': the URL has no scheme; write it with http:// or https:// in front"),
    (
      "http://user:secret@h:x/a",
      "http://h:x/a: the port is not a number from 1 to 65535; correct it, or leave it out"
    ),
    (
      "http://h/a\u{1B}[2J",
      "http://h/a?[2J: the URL has a control character; write it percent-encoded"
    ),
    (
      "http://user:secret@*.h/a",
      "http://*.h/a: the host has a *; write a rule for each host"
    ),
  ]

  @Test(arguments: bad)
  func `a URL that is wrong is named, once and without its password, with one remedy`(
    pattern: String, text: String
  ) throws {
    let error = #expect(throws: SubstituteError.self) {
      try Substitutes([SubstituteRule(pattern, .file("/a"))])
    }
    #expect(error?.description == text)
    let path = try folder.write("file", "a")
    guard !pattern.isEmpty, !pattern.contains("\u{1B}") else { return }
    let table = try folder.write("table", "\n\(pattern) \(path)")
    let inTable = #expect(throws: SubstituteError.self) { try Substitutes(contentsOf: [table]) }
    #expect(inTable?.description == "\(table):2: \(text)")
  }

  @Test func `a URL that is right is named without its password, too`() {
    for target: SubstituteRule.Target in [.file("/none"), .folder("/none")] {
      let error = #expect(throws: SubstituteError.self) {
        try Substitutes([SubstituteRule("HTTP://user:secret@H:80/a/*", target)])
      }
      #expect(error?.subject == "http://h/a/*")
      #expect(error?.description.contains("secret") == false)
    }
  }
}
