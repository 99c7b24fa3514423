import CacheFormat
import HTTPSemantics
import Testing

@testable import StoreMigration

struct ArchivedFieldsTests {
  private func lines(_ fields: HTTPFields) -> [String] { fields.map(\.description) }

  private func pairs(_ pairs: (String, PropertyListValue)...) -> [PropertyListPair] {
    pairs.map { PropertyListPair(key: .string($0), value: $1) }
  }

  /// Makes the value of the pseudo field with the fields as they were received.
  private func original(_ list: PropertyListValue) -> PropertyListValue {
    .string("\r\n\r\n" + Base64.encode(PropertyListBytes.list(list)))
  }

  @Test(arguments: ["__hhaa__", "__HHAA__"])
  func `the fields as they were received count, in their order`(name: String) {
    let received = PropertyListValue.pairs(
      ("Set-Cookie", .array([.string("a"), .string("b")])), ("ETag", .array([.string("\"x\"")])))
    let fields = ArchivedFields.response(
      pairs(("Etag", .string("other")), (name, original(received)), ("Set-Cookie", .string("a, b")))
    )
    #expect(lines(fields) == ["Set-Cookie: a", "Set-Cookie: b", "ETag: \"x\""])
  }

  @Test func `without them the dictionary counts, and the pseudo field is none`() {
    for broken in [
      PropertyListValue.string(""), .string("\r\n\r\n!"), .integer(1), original(.array([])),
      original(.pairs(("A", .string("no array")))), .string(Base64.encode([1, 2, 3])),
    ] {
      let fields = ArchivedFields.response(pairs(("A", .string("b")), ("__hhaa__", broken)))
      #expect(lines(fields) == ["A: b"], "\(broken)")
    }
    #expect(lines(ArchivedFields.request(pairs(("__HhAa__", .string("x"))))).isEmpty)
  }

  @Test func `a field that could not be sent is left out`() {
    let list = pairs(
      ("A", .string("b\r\nC: d")), ("B C", .string("x")), ("", .string("x")), ("D", .integer(1)),
      ("E", .string("\0")), ("F", .string("ok")))
    #expect(lines(ArchivedFields.request(list)) == ["F: ok"])
    let received = PropertyListValue.pairs(
      ("A", .array([.string("b\r\nC: d"), .string("fine"), .null])))
    #expect(lines(ArchivedFields.response(pairs(("__hhaa__", original(received))))) == ["A: fine"])
    let unnamed = [PropertyListPair(key: .integer(1), value: .string("x"))]
    #expect(ArchivedFields.request(unnamed).isEmpty)
  }

  @Test func `a type is made up only if it can be sent`() {
    #expect(lines(MadeUpFields.contentType("text/html")) == ["Content-Type: text/html"])
    #expect(
      lines(MadeUpFields.contentType("text/html", charset: "utf-8"))
        == ["Content-Type: text/html; charset=utf-8"])
    #expect(
      lines(MadeUpFields.contentType("text/html", charset: "")) == ["Content-Type: text/html"])
    for type in [nil, "", "a\r\nB: c", "a\0"] { #expect(MadeUpFields.contentType(type).isEmpty) }
    #expect(MadeUpFields.contentType("text/html", charset: "x\r\nB: c").isEmpty)
  }
}
