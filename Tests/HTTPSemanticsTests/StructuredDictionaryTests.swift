import HTTPSemantics
import Testing

struct StructuredDictionaryTests {
  private func parsed(_ text: String) -> StructuredDictionary? {
    StructuredDictionary(Array(text.utf8))
  }

  @Test func `every type of value is told apart`() throws {
    let dictionary = try #require(
      parsed(
        "a=1, b=-999999999999999, c=1.5, d=\"x\\\"y\\\\\", e=tok/en:*, f=:aGk=:, g=?0, h, "
          + "i=@1659578233, j=%\"f%c3%bc\", k=(1 \"a\";p  b), l;q=1;r"))
    let expected: [(String, StructuredDictionary.Value)] = [
      ("a", .integer(1)), ("b", .integer(-999_999_999_999_999)), ("c", .other),
      ("d", .string("x\"y\\")), ("e", .token("tok/en:*")), ("f", .byteSequence("aGk=")),
      ("g", .boolean(false)), ("h", .boolean(true)), ("i", .other), ("j", .other),
      ("k", .other), ("l", .boolean(true)),
    ]
    #expect(dictionary.members.map(\.key) == expected.map(\.0))
    #expect(dictionary.members.map(\.value) == expected.map(\.1))
  }

  @Test(
    arguments: [
      "a=1,", "a=1 b=2", ",a", "A=1", "a=", "a =1", "a= 1", "1a=1", "a=1, &&&&&", "a=\"x",
      "a=\"\\x\"", "a=\"\u{7F}\"", "a=\"ä\"", "a=1.", "a=1.2345", "a=1234567890123.1", "a=-",
      "a=1000000000000000", "a=+1", "a=1e5", "a=?2", "a=?", "a=:a", "a=:a-:", "a=(", "a=(1",
      "a=(1,2)", "a=(1\t2)", "a=(A;B)", "a=@", "a=@1.5", "a=%x", "a=%\"%C3\"", "a=%\"%c\"",
      "a=%\"x", "a;", "a;P", "a;p=", "a=1;p=(1)", "\ta=1", "a=1\n", "ä", "a=ä", "a\0", "a=\"\0\"",
    ])
  func `one error makes the whole value none`(text: String) {
    #expect(parsed(text) == nil)
  }

  @Test func `white space may stand around commas, and spaces at both ends`() {
    #expect(parsed("  a=1 \t,\t  b  ")?.members.map(\.key) == ["a", "b"])
    #expect(parsed("")?.members.isEmpty == true)
    #expect(parsed("   ")?.members.isEmpty == true)
    #expect(parsed("a=( 1 2  )")?["a"] == .other)
    #expect(parsed("a=()")?["a"] == .other)
  }

  @Test func `of two members with one key the last counts, at the place of the first`() {
    let dictionary = parsed("a=1, b, a=2")
    #expect(dictionary?.members.map(\.key) == ["a", "b"])
    #expect(dictionary?["a"] == .integer(2))
    #expect(dictionary?["c"] == nil)
  }

  @Test func `more members or bytes than the limit are refused`() {
    let most = StructuredDictionary.maximumMembers
    func text(_ count: Int) -> String { (0..<count).map { "a\($0)" }.joined(separator: ",") }
    #expect(parsed(text(most))?.members.count == most)
    #expect(parsed(text(most + 1)) == nil)
    let padding = String(repeating: " ", count: StructuredDictionary.maximumLength - 1)
    #expect(parsed("a" + padding)?.members.count == 1)
    #expect(parsed("a" + padding + " ") == nil)
  }
}
