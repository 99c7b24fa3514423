import Testing

@testable import HTTPSemantics

struct DirectiveSyntaxTests {
  /// Describes a member of a line: the directive, and its argument.
  private func read(_ line: String, _ member: Range<Int>? = nil) -> String? {
    let bytes = Array(line.utf8)
    let range = member ?? 0..<bytes.count
    return bytes.withSpan { span -> String? in
      guard let syntax = DirectiveSyntax(span, range) else { return nil }
      switch syntax.argument {
      case .none: return "\(syntax.directive)"
      case .value(let value):
        return "\(syntax.directive) \(String(decoding: bytes[value], as: UTF8.self))"
      case .malformed: return "\(syntax.directive) malformed"
      }
    }
  }

  @Test(arguments: [
    ("no-store", "noStore"), ("max-age=60", "maxAge 60"), ("MAX-AGE=\"60\"", "maxAge 60"),
    ("private=\"a, b\"", "isPrivate a, b"), ("private=\"\"", "isPrivate "),
    ("private=\"a\\\"b\"", "isPrivate a\\\"b"), ("max-age==", "maxAge ="),
    ("max-age=1=2", "maxAge 1=2"), ("max-age=a\"b", "maxAge a\"b"),
  ])
  func `a member has a directive and perhaps an argument`(member: String, expected: String) {
    #expect(read(member) == expected)
  }

  @Test(arguments: [
    "max-age=", "max-age= 60", "max-age =60", "max-age\t=60", "max-age=\t60", "max-age=\"60",
    "max-age=\"", "max-age=\"60\"x", "max-age=\"6\"0\"", "max-age=\"60\\\"", "max-age;60",
    "max-age 60",
  ])
  func `an argument that is not written as the grammar has it is malformed`(member: String) {
    #expect(read(member) == "maxAge malformed")
  }

  @Test(arguments: ["", "=60", "\"max-age\"=60", "no-transform", "unknown=1", "ä", "no store"])
  func `what does not begin with a known name is no directive`(member: String) {
    #expect(read(member) == nil)
  }

  @Test func `nothing outside of the member is read`() {
    // The quotation mark that would close the string belongs to the next member.
    #expect(read("max-age=\"60, private=\"x\"", 0..<11) == "maxAge malformed")
    #expect(read("xmax-age=60y", 1..<11) == "maxAge 60")
    #expect(read("max-age=60", 0..<7) == "maxAge")
    #expect(read("max-age=60", 0..<8) == "maxAge malformed")
    #expect(read("max-age=60", 3..<3) == nil)
  }
}
