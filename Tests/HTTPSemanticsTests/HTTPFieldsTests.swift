import HTTPSemantics
import Testing

struct HTTPFieldsTests {
  private let fields: HTTPFields = [
    HTTPField("Cache-Control", "no-cache"), HTTPField("Set-Cookie", "a=1"),
    HTTPField("cache-control", "private"), HTTPField("SET-COOKIE", "b=2"),
  ]

  @Test("fields of one name stay apart and in their order, whatever their case")
  func duplicates() {
    #expect(fields.all(named: "set-cookie").map(\.text) == ["a=1", "b=2"])
    #expect(fields.map(\.name) == ["Cache-Control", "Set-Cookie", "cache-control", "SET-COOKIE"])
    #expect(fields.first(named: "CACHE-CONTROL") == HTTPField("Cache-Control", "no-cache"))
    #expect(fields.contains("Set-cookie"))
    #expect(!fields.contains("Set-Cookie2"))
    #expect(fields.first(named: "Age") == nil)
  }

  @Test("the lines of a list are joined on request")
  func combined() {
    #expect(fields.combinedValue(of: "Cache-Control") == Array("no-cache, private".utf8))
    #expect(fields.combinedValue(of: "Age") == nil)
  }

  @Test(
    "identity and empty names are no codings",
    arguments: [
      ("gzip , identity,\tdeflate", ["gzip", "deflate"]), ("Identity", nil), ("", nil), (" ,", nil),
      ("br", ["br"]),
    ])
  func codings(value: String, names: [String]?) {
    #expect(HTTPFields([HTTPField("Content-Encoding", value)]).contentCodings == names)
    #expect(HTTPFields([]).contentCodings == nil)
  }

  @Test("replacing and removing takes every field of the name and no other")
  func changes() {
    var changed = fields
    changed.replace(with: HTTPField("CACHE-control", "max-age=1"))
    #expect(changed.all(named: "cache-control").map(\.text) == ["max-age=1"])
    changed.removeAll(named: "set-cookie")
    #expect(changed.map(\.name) == ["CACHE-control"])
  }

  @Test("only ASCII letters are equal without regard to case")
  func caseFolding() {
    #expect(HTTPField("X-A", "").isNamed("x-a"))
    // The Kelvin sign's lower case is an ASCII "k", and "@" differs from "`" in one bit only.
    #expect(!HTTPField("\u{212A}", "").isNamed("k"))
    #expect(!HTTPField("@", "").isNamed("`"))
  }

  @Test("a value need not be UTF-8")
  func bytes() {
    let field = HTTPField(name: "X", value: [0x61, 0xE4])
    #expect(field.value == [0x61, 0xE4])
    #expect(field.text == "a\u{FFFD}")
    #expect(field.isValid)
  }

  @Test(
    "a field that would break a message is not valid",
    arguments: [
      HTTPField("", "x"), HTTPField("a b", "x"), HTTPField("a:", "x"), HTTPField("a", "x\r\ny: z"),
      HTTPField("a", "x\0"), HTTPField("ä", "x"), HTTPField("a", "\u{7F}"),
    ])
  func invalid(field: HTTPField) {
    #expect(!field.isValid)
  }

  @Test("tab, space and bytes beyond ASCII may stand in a value")
  func valid() {
    #expect(HTTPField(name: "a", value: [0x20, 0x09, 0xFF]).isValid)
    #expect(HTTPField("a", "").isValid)
  }

  @Test(
    arguments: [
      ("12", 12), ("", nil), ("-1", nil), ("+1", nil), ("1, 1", nil),
      ("9223372036854775807", 9_223_372_036_854_775_807), ("9223372036854775808", nil),
    ] as [(String, UInt64?)])
  func `a content length is digits alone`(value: String, length: UInt64?) {
    let fields: HTTPFields = [HTTPField("A", "1"), HTTPField("content-length", value)]
    #expect(fields.contentLength == length)
    #expect(HTTPFields().contentLength == nil)
  }
}
