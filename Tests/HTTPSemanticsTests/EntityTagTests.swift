import Testing

@testable import HTTPSemantics

struct EntityTagTests {
  @Test(arguments: [
    ("\"a\"", true, false), ("W/\"a\"", true, true), ("\"\"", true, false),
    ("\"a\\b\"", true, false), ("\"ü\"", true, false), ("  \"a\" ", true, false),
    // Malformed: without quotation marks, of the wrong case, with what no tag has.
    ("a", false, false), ("w/\"a\"", false, false), ("W\"a\"", false, false),
    ("\"a", false, false), ("\"", false, false), ("\"a b\"", false, false),
    ("\"a\"b\"", false, false), ("W/", false, false), ("*", false, false),
  ])
  func `a tag is well-formed only as RFC 9110 writes it`(
    text: String, isWellFormed: Bool, isWeak: Bool
  ) throws {
    let tag = try #require(EntityTag(Array(text.utf8)))
    #expect(tag.isWellFormed == isWellFormed)
    #expect(tag.isWeak == isWeak)
    #expect(tag.isStrong == (isWellFormed && !isWeak))
  }

  @Test(arguments: [[], [0x20, 0x09], Array("\"a\u{0}\"".utf8), Array("\"a\r\nX: y\"".utf8)])
  func `what could not be sent back is no tag`(value: [UInt8]) {
    #expect(EntityTag(value) == nil)
  }

  @Test func `a tag has at most 4096 bytes`() {
    let fits = Array("\"".utf8) + Array(repeating: UInt8(ascii: "a"), count: 4094) + "\"".utf8
    #expect(EntityTag(fits)?.bytes == fits)
    #expect(EntityTag(fits + "x".utf8) == nil)
  }

  @Test(arguments: [
    // The table of RFC 9110, section 8.8.3.2, and malformed tags.
    ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
    ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"1\"", true, true),
    ("1", "1", false, true), ("1", "\"1\"", false, false), ("w/\"1\"", "W/\"1\"", false, false),
    ("w/\"1\"", "w/\"1\"", false, true),
  ])
  func `tags compare as RFC 9110 tells`(
    left: String, right: String, strongly: Bool, weakly: Bool
  ) throws {
    let left = try #require(EntityTag(Array(left.utf8)))
    let right = try #require(EntityTag(Array(right.utf8)))
    #expect(left.matchesStrongly(right) == strongly)
    #expect(right.matchesStrongly(left) == strongly)
    #expect(left.matchesWeakly(right) == weakly)
    #expect(right.matchesWeakly(left) == weakly)
  }

  @Test(arguments: [
    ("\"a\", W/\"b\" ,\"c,d\"", ["\"a\"", "W/\"b\"", "\"c,d\""]), (" , ,\"a\",", ["\"a\""]),
    // A backslash escapes nothing in a tag.
    ("\"a\\\", \"b\"", ["\"a\\\"", "\"b\""]), ("a, b", ["a", "b"]), ("", []),
    ("\"a, b", ["\"a, b"]),
  ])
  func `a list of tags is split outside quotation marks`(line: String, members: [String]) {
    var found: [String] = []
    let isAny = EntityTag.list(Array(line.utf8)) { member in
      found.append(String(decoding: member, as: UTF8.self))
      return false
    }
    #expect(found == members)
    #expect(!isAny)
  }

  @Test(arguments: [
    ("*", true), (" * ", true), ("*a", false), ("\"a\", *", true), ("\"*\"", false),
  ])
  func `a star in a list means any tag`(line: String, isAny: Bool) {
    #expect(EntityTag.list(Array(line.utf8)) { _ in false } == isAny)
  }
}
