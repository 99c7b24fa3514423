import HTTPSemantics
import Testing

struct SelectionTests {
  private func identity(_ value: [UInt8]) -> [UInt8] { value }

  private func reversed(_ value: [UInt8]) -> [UInt8] { value.reversed() + [0] }

  private func selection(_ vary: [String], _ request: HTTPFields) -> Selection? {
    Selection(
      varyOf: HTTPFields(vary.map { HTTPField("Vary", $0) }), request: request, conceal: identity)
  }

  @Test func `without Vary every request matches`() {
    #expect(selection([], [HTTPField("Foo", "1")]) == Selection.none)
    #expect(selection([""], []) == Selection.none)
    #expect(Selection.none.matches([HTTPField("Foo", "2")], conceal: identity))
  }

  @Test(arguments: [
    (["*"], false), ([", *"], false), (["*, *"], false), (["*, Foo"], false), (["Foo, *"], false),
    (["Foo", "*"], false), (["", "*"], false), (["Foo Bar"], false), (["Foo;q=1"], false),
    (["Foo", "Bar, foo"], true), (["Foo,,Bar,"], true),
  ])
  func `a star or what is no name matches no later request`(vary: [String], isUsable: Bool) {
    #expect((selection(vary, []) != nil) == isUsable)
  }

  @Test func `more than 64 names match no later request`() {
    let names = (0..<64).map { "n\($0)" }
    #expect(selection([names.joined(separator: ",")], [])?.fields.count == 64)
    #expect(selection([names.joined(separator: ","), "one-more"], []) == nil)
  }

  @Test(arguments: [
    (["Foo"], ["Foo:1"], ["foo:1"], true), (["Foo"], ["Foo:1"], ["Foo:2"], false),
    (["Foo"], ["Foo:1"], ["Foo:1", "Other:3"], true), (["Foo"], ["Foo:1"], [], false),
    (["Foo"], [], ["Foo:1"], false), (["Foo"], [], [], true), (["Foo"], ["Foo:"], [], false),
    (["foo", "BAR"], ["Foo:1", "Bar:abc"], ["Bar:abc", "Foo:1"], true),
    (["Foo, Bar"], ["Foo:1", "Bar:abc"], ["Foo:1", "Bar:abcde"], false),
    (["Foo, Bar, Baz"], ["Foo:1", "Baz:789"], ["Foo:1", "Baz:789"], true),
    (["Foo, Bar, Baz"], ["Foo:1", "Baz:789"], ["Foo:1", "Baz:789", "Bar:"], false),
    // Values move neither between names nor between lines and what stands in them.
    (["Foo, Bar"], ["Foo:1", "Bar:2"], ["Foo:2", "Bar:1"], false),
    (["Foo"], ["Foo:1, 2"], ["Foo:1", "Foo:2"], true),
    (["Foo"], ["Foo:1", "Foo:2"], ["Foo:2", "Foo:1"], false),
    (["Foo"], ["Foo:1", "Foo:2"], ["Foo:1"], false),
    (["Prefer"], ["Prefer:1"], ["Prefer:1", "Prefer:2"], false),
    (["Foo"], ["Foo:1", "Foo:2"], ["Foo:1", "Foo:2", "Foo:3"], false),
  ])
  func `a request matches when all selecting fields do`(
    vary: [String], first: [String], second: [String], matches: Bool
  ) throws {
    let made = try #require(selection(vary, Self.fields(first)))
    #expect(made.matches(Self.fields(second), conceal: identity) == matches)
    #expect(made.matches(Self.fields(first), conceal: identity))
    // Equal selections are the same variant, so both have to say the same.
    #expect((selection(vary, Self.fields(second)) == made) == matches)
  }

  @Test func `fields are sorted by name and each is there once`() throws {
    let made = try #require(selection(["B, a", "A, c"], [HTTPField("A", "1")]))
    #expect(made.fields.map(\.name) == ["a", "b", "c"])
    #expect(made.fields.map(\.value) == [Array("1".utf8), nil, nil])
    #expect(Selection(fields: made.fields.reversed()) == made)
  }

  @Test(arguments: ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Referer"])
  func `credentials, and what may be one, are kept concealed`(name: String) throws {
    let request: HTTPFields = [HTTPField(name, "secret")]
    let made = try #require(
      Selection(varyOf: [HTTPField("Vary", name)], request: request, conceal: reversed))
    #expect(made.fields.map(\.value) == [reversed(Array("secret".utf8))])
    #expect(made.matches(request, conceal: reversed))
    #expect(!made.matches([HTTPField(name, "other")], conceal: reversed))
    #expect(!made.matches([], conceal: reversed))
    // Who sends what is stored has not the credentials.
    let forged: HTTPFields = [HTTPField(name: name, value: reversed(Array("secret".utf8)))]
    #expect(!made.matches(forged, conceal: reversed))
  }

  @Test(arguments: ["Accept-Language", "Origin", "Sec-Fetch-Mode", "User-Agent"])
  func `what is known to be harmless is kept as it is`(name: String) throws {
    let made = try #require(
      Selection(
        varyOf: [HTTPField("Vary", name)], request: [HTTPField(name, "a")], conceal: reversed))
    #expect(made.fields.map(\.value) == [Array("a".utf8)])
  }

  @Test func `a long value is kept concealed`() throws {
    let longest = String(repeating: "x", count: Selection.maximumValueLength)
    let kept = try #require(
      Selection(
        varyOf: [HTTPField("Vary", "Prefer")], request: [HTTPField("Prefer", longest)],
        conceal: { _ in [1] }))
    #expect(kept.fields.map(\.value) == [Array(longest.utf8)])
    let value = Array((longest + "x").utf8)
    let request: HTTPFields = [HTTPField(name: "Prefer", value: value)]
    let made = try #require(
      Selection(varyOf: [HTTPField("Vary", "Prefer")], request: request, conceal: { _ in [1] }))
    #expect(made.fields.map(\.value) == [[1]])
    #expect(made.matches(request, conceal: { _ in [1] }))
    #expect(!made.matches(request, conceal: { _ in [2] }))
  }

  @Test func `names can be added to those of Vary`() throws {
    let made = try #require(
      Selection(
        varyOf: [HTTPField("Vary", "Foo")], request: [HTTPField("Bar", "1")], and: ["BAR"],
        conceal: identity))
    #expect(made.fields.map(\.name) == ["bar", "foo"])
    #expect(!made.matches([HTTPField("Bar", "2")], conceal: identity))
  }

  @Test func `cookies in several lines are those in one`() throws {
    let made = try #require(selection(["Cookie"], [HTTPField("Cookie", "a=1; b=2")]))
    #expect(
      made.matches([HTTPField("Cookie", "a=1"), HTTPField("Cookie", "b=2")], conceal: identity))
    #expect(!made.matches([HTTPField("Cookie", "a=1;b=2")], conceal: identity))
  }

  private static func fields(_ lines: [String]) -> HTTPFields {
    HTTPFields(
      lines.map { line in
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        return HTTPField(String(parts[0]), String(parts[1]))
      })
  }
}
