import HTTPSemantics
import Testing

@testable import StoreMigration

struct URLMapperTests {
  private let mapper = URLMapper([
    URLMapping(from: "http://old.test/a/", to: "https://new.test/"),
    URLMapping(from: "http://old.test/", to: "https://rest.test/"),
    URLMapping(from: "http://bad.test/", to: "nowhere/"),
  ])

  @Test(
    arguments: [
      ("http://old.test/a/b?c", "https://new.test/b?c"),
      ("http://old.test/x", "https://rest.test/x"),
      // By the normal form.
      ("HTTP://Old.test:80/x/../a/b", "https://new.test/b"), ("http://other.test/a", nil),
      ("no URL", nil),
    ] as [(String, String?)])
  func `the first mapping that matches counts`(text: String, expected: String?) throws {
    #expect(mapper.mapped(text) == expected)
    if let expected { #expect(try mapper.url(of: text).string == expected) }
  }

  @Test func `a URL that a mapping makes invalid is skipped, another one stays as it is`() throws {
    let error = #expect(throws: MoveFailure.self) { try mapper.url(of: "http://bad.test/a") }
    guard case .skip(.badMappedURL, _)? = error else {
      return #expect(Bool(false), "not skipped for its URL")
    }
    #expect(try mapper.url(of: "http://Other.test").string == "http://other.test/")
  }

  @Test(
    arguments: [
      ("http://u:p@h/a@b", "http://h/a@b"), ("http://u@p@h/", "http://h/"),
      ("http://h?a@b", "http://h?a@b"),
      ("a@b", "a@b"),
    ])
  func `a key is shown without credentials`(key: String, expected: String) {
    #expect(URLMapper.shown(key) == expected)
  }
}
