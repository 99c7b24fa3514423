import Testing

@testable import HTTPSemantics

/// Gives every reader very long values and messages of ten thousand fields. A step that takes
/// quadratic time would run for many minutes here; one that trusts a number would trap.
struct HostileValuesTests {
  static let length = 200_000

  static let pieces = [
    " ", "\t", ",", "\"", "\\", ";", "=", "-", "0", "9", "a", "*", "W/", ", \"", "a,", "\"a\",",
    "a;q=0.5, ", "0-1,", "\u{0}", "é", "../", "//", "%2e",
  ]

  @Test(arguments: pieces)
  func `a very long value is read or refused`(piece: String) throws {
    let value = Array(String(repeating: piece, count: Self.length / piece.utf8.count).utf8)
    let request = try Stored.get(
      HTTPFields(
        [
          "Accept-Language", "Foo", "Cookie", "If-None-Match", "If-Modified-Since", "Range",
          "If-Range", "Connection",
        ].map { HTTPField(name: $0, value: value) }))
    let vary: HTTPFields = [HTTPField("Vary", "Accept-Language, Foo, Cookie")]
    let hash = { (value: [UInt8]) in Array(String(value.count).utf8) }
    let selection = Selection(varyOf: vary, request: request.fields, conceal: hash)
    let kept = try #require(selection).fields.compactMap(\.value)
    #expect(kept.allSatisfy { $0.count <= Selection.maximumValueLength })
    #expect(selection?.matches(request.fields, conceal: hash) == true)
    _ = Selection(
      varyOf: [HTTPField(name: "Vary", value: value)], request: [], conceal: hash)

    let stored = Stored.response([
      HTTPField(name: "ETag", value: value), HTTPField("Last-Modified", Stored.date(-3000)),
    ])
    #expect(stored.facts.entityTag == nil)
    #expect(ContentRange(value) == nil)
    let isAny = EntityTag.list(value) { _ in false }
    #expect(Preconditions.isNotModified(stored, for: request, now: Stored.noon) == isAny)
    let answer = RangeAnswer.answer(to: request, from: stored, length: 10, now: Stored.noon)
    #expect(answer == .whole)
    #expect(ByteRange(of: request) == nil)
    #expect(!ConnectionFields.removed(from: request.fields).contains("Connection"))
    let reference = String(decoding: value, as: UTF8.self)
    #expect(throws: InvalidURL.self) { try request.url.resolving(reference) }
  }

  @Test(arguments: pieces)
  func `a very long value behind a good beginning is read or refused`(piece: String) throws {
    let tail = Array(String(repeating: piece, count: Self.length / piece.utf8.count).utf8)
    let request = try Stored.get([HTTPField(name: "Range", value: Array("bytes=0-".utf8) + tail)])
    let stored = Stored.response([HTTPField("ETag", "\"a\"")])
    let answer = RangeAnswer.answer(to: request, from: stored, length: 10, now: Stored.noon)
    #expect([.whole, .part(0...9), .part(0...0)].contains(answer))
    let range = ContentRange(Array("bytes 0-4/".utf8) + tail)
    #expect(range == nil || range?.completeLength == nil)
  }

  @Test func `ten thousand fields of one name are read`() throws {
    let names = ["Vary", "If-None-Match", "Connection", "Range", "Foo", "ETag"]
    var fields = HTTPFields()
    for index in 0..<10_000 {
      for name in names { fields.append(HTTPField(name, "\"\(index)\"")) }
    }
    let request = try Stored.get(fields)
    let hash = { (value: [UInt8]) in Array(String(value.count).utf8) }
    let selection = Selection(
      varyOf: [HTTPField("Vary", "Foo")], request: fields, conceal: hash)
    #expect(selection?.matches(fields, conceal: hash) == true)
    #expect(Selection(varyOf: fields, request: fields, conceal: hash) == nil)
    let last = Stored.response([HTTPField("ETag", "\"9999\"")])
    #expect(Preconditions.isNotModified(last, for: request, now: Stored.noon))
    let none = Stored.response([HTTPField("ETag", "\"10000\"")])
    #expect(!Preconditions.isNotModified(none, for: request, now: Stored.noon))
    #expect(ByteRange(of: request) == nil)
    let freshened = Freshening.freshened([], by: fields, receivedAt: Stored.noon)
    #expect(freshened.count == 10_000 * (names.count - 1) + 1)
  }
}
