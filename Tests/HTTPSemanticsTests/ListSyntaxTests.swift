import HTTPSemantics
import Testing

struct ListSyntaxTests {
  private func members(_ line: String) -> [String] {
    let bytes = Array(line.utf8)
    var cursor = ListSyntax.Cursor()
    var members: [String] = []
    while let range = cursor.next(in: bytes.span) {
      members.append(String(decoding: bytes[range], as: UTF8.self))
    }
    return members
  }

  @Test(
    arguments: [
      ("", []), (",", []), (" , ,\t", []), ("a", ["a"]), ("a,b", ["a", "b"]),
      (" a ,\tb c ,", ["a", "b c"]), (",,a", ["a"]), ("a=\"x, y\", b", ["a=\"x, y\"", "b"]),
      ("a=\"x\\\", y\", b", ["a=\"x\\\", y\"", "b"]), ("\"\",b", ["\"\"", "b"]),
    ])
  func `commas outside quoted strings divide, and white space and empty members go`(
    line: String, expected: [String]
  ) {
    #expect(members(line) == expected)
  }

  @Test(
    arguments: [
      ("a=\"x, no-store", ["a=\"x", "no-store"]), ("\",\\\",b", ["\"", "\\\"", "b"]),
      ("a\"b\"c\", d", ["a\"b\"c\"", "d"]), ("\"\\", ["\"\\"]),
    ])
  func `a quote that is never closed hides nothing`(line: String, expected: [String]) {
    #expect(members(line) == expected)
  }

  @Test func `the lines of a name are one list, but a quoted string ends with its line`() {
    let fields: HTTPFields = [
      HTTPField("X", "a, b=\"1"), HTTPField("Y", "z"), HTTPField("x", "2\", c"),
    ]
    #expect(ListSyntax.members(of: "x", in: fields) == ["a", "b=\"1", "2\"", "c"])
  }

  @Test func `many quotes that are never closed take linear time`() {
    // With a search to the end for each of them this would be 10^10 steps.
    let line = "\"" + String(repeating: "\\\",", count: 100_000)
    #expect(members(line).count == 100_000)
  }
}
