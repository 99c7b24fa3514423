import Testing

@testable import HTTPSemantics

@Suite("Quoted strings")
struct QuotedStringTests {
  @Test(
    "Quotes and backslashes are escaped",
    arguments: [("", "\"\""), ("a b", "\"a b\""), ("a\"b", "\"a\\\"b\""), ("\\", "\"\\\\\"")])
  func escapes(text: String, quoted: String) {
    #expect(QuotedString.quote(text) == quoted)
  }

  @Test("What is written is read as the same, also where a mark combines with a quote")
  func combines() {
    for text in ["\"\u{303}", "\\\u{303}\\", "a\"\u{301}, b=\"c\u{200D}"] {
      let line = "Basic realm=" + QuotedString.quote(text)
      let found = Challenge.all(in: [HTTPField("WWW-Authenticate", line)])
      #expect(found == [Challenge(scheme: "Basic", parameters: [.init("realm", text)])])
    }
  }
}
