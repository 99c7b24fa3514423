import Testing

@testable import CachingProxy

@Suite("A target that is shown") struct TargetTextTests {
  @Test(arguments: [
    ("/a", "/a"), ("/a@b", "b"), ("http://u:p@a/b", "http://a/b"), ("u:p@a:443", "a:443"),
    ("http://u:p@x@a/", "http://a/"), ("ftp://u:p@a", "ftp://a"), ("*", "*"), ("", ""),
    ("http://u:p/w@a/", "http://a/"), ("//u:p@a/", "a/"),
  ])
  func `has no credentials`(target: String, shown: String) {
    #expect(TargetText.withoutCredentials(Array(target.utf8)) == shown)
  }

  @Test func `is not endless`() {
    let shown = TargetText.withoutCredentials([UInt8](repeating: 97, count: 100_000))
    #expect(shown.utf8.count == TargetText.maximumLength)
  }
}
