import Testing

@testable import HTTPSemantics

@Suite struct PercentEncodingTests {
  @Test func `bytes that are not kept become escapes in upper case`() {
    let text = PercentEncoding.escaped("a b/\u{E4}".utf8, keeping: ASCII.isUnreserved)
    #expect(text == "a%20b%2F%C3%A4")
  }

  @Test(arguments: ["", "a", "%41b%2f", "%25%00%FF"])
  func `escapes are decoded`(text: String) throws {
    let bytes = try #require(PercentEncoding.decoded(Array(text.utf8)[...]))
    #expect(PercentEncoding.decoded(Array(text.utf8)[...], isLax: true) == bytes)
    #expect(!bytes.isEmpty || text.isEmpty)
    let escaped = PercentEncoding.escaped(bytes) { _ in false }
    #expect(PercentEncoding.decoded(Array(escaped.utf8)[...]) == bytes)
  }

  @Test(arguments: ["%", "%4", "a%zz", "%%341"])
  func `a percent sign that begins no escape is refused, or stays`(text: String) {
    #expect(PercentEncoding.decoded(Array(text.utf8)[...]) == nil)
    let lax = PercentEncoding.decoded(Array(text.utf8)[...], isLax: true)
    #expect(lax?.first == (text.utf8.first))
  }
}
