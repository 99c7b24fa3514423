import CacheFormat
import Testing

@testable import StoreMigration

struct KeyedArchiveValuesTests {
  private func object(_ name: String, _ key: String, _ member: [UInt8]) -> [UInt8] {
    PropertyListBytes.object(name, key, member)
  }

  private func real(_ number: Double) -> [UInt8] {
    let bits = number.bitPattern
    return [0x23] + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
  }

  /// Archives a dictionary; `more` are the objects that its lists refer to by their place.
  private func dictionary(keys: [UInt8], values: [UInt8], more: [[UInt8]]) -> [UInt8] {
    let list = { (places: [UInt8]) in
      { (more: UInt8) in [0xa0 | UInt8(places.count)] + places.map { more + $0 } }
    }
    return PropertyListBytes.object(
      "NSDictionary", [("NS.keys", list(keys)), ("NS.objects", list(values))], more: more)
  }

  @Test func `objects of Foundation's value classes are read`() throws {
    for (bytes, value) in [
      (object("NSMutableData", "NS.data", [0x41, 9]), .data([9])),
      (object("NSString", "NS.string", [0x61, 0, 0xe4]), .string("ä")),
      (object("NSURL", "NS.relative", [0x53, 0x61, 0x3a, 0x62]), .string("a:b")),
      (object("NSSet", "NS.objects", [0xa0]), .array([])),
      (object("NSNull", "x", [0x00]), .null),
      (
        object("NSDate", "NS.time", [0x10, 1]),
        .date(Timestamp(nanoseconds: 978_307_201_000_000_000))
      ),
    ] as [([UInt8], PropertyListValue)] { #expect(try KeyedArchive.value(bytes) == value) }
  }

  @Test func `an unknown class is no value, nor is one without what it should have`() {
    for (name, key) in [
      ("BattleDroid", "NS.data"), ("NSData", "NS.string"), ("NSString", "NS.data"),
      ("NSDate", "NS.data"), ("NSArray", "NS.data"), ("NSDictionary", "NS.objects"),
      ("NSURL", "NS.data"), ("", "NS.data"),
    ] { #expect(KeyedArchive.cause(object(name, key, [0x41, 9])) == .wrongType, "\(name)") }
  }

  @Test func `a dictionary pairs its lists, and refuses lists of two lengths`() throws {
    let more: [[UInt8]] = [[0x51, 0x61], [0x10, 1], [0x51, 0x62]]
    let found = try KeyedArchive.value(dictionary(keys: [0, 2], values: [1, 1], more: more))
    #expect(found == .pairs(("a", .integer(1)), ("b", .integer(1))))
    #expect(try KeyedArchive.value(dictionary(keys: [], values: [], more: [])) == .pairs())
    #expect(KeyedArchive.cause(dictionary(keys: [0, 2], values: [1], more: more)) == .wrongType)
    #expect(KeyedArchive.cause(dictionary(keys: [], values: [1], more: more)) == .wrongType)
  }

  @Test func `a member that is nil is null in a list, and no text`() throws {
    let nils: [[UInt8]] = [[0x51, 0x61], [0x80, 0]]
    #expect(
      try KeyedArchive.value(dictionary(keys: [0], values: [1], more: nils)) == .pairs(("a", .null))
    )
    #expect(KeyedArchive.cause(object("NSString", "NS.string", [0x80, 0])) == .wrongType)
  }

  @Test func `bytes that are no UTF-8 are text with replacements`() throws {
    let bytes = object("NSString", "NS.bytes", [0x43, 0x61, 0xff, 0x00])
    #expect(try KeyedArchive.value(bytes) == .string("a\u{fffd}\0"))
    #expect(KeyedArchive.cause(object("NSString", "NS.bytes", [0x51, 0x61])) == .wrongType)
  }

  @Test func `a time that is no number is refused, one beyond all years is the last`() throws {
    #expect(KeyedArchive.cause(object("NSDate", "NS.time", real(.nan))) == .wrongType)
    #expect(KeyedArchive.cause(object("NSDate", "NS.time", [0x51, 0x30])) == .wrongType)
    for number in [Double.infinity, -.infinity, 1e300, -1e300] {
      guard case .date = try KeyedArchive.value(object("NSDate", "NS.time", real(number))) else {
        Issue.record("\(number) is no date")
        continue
      }
    }
  }

  @Test(
    arguments: [
      ("b", "http://h/a/", "http://h/a/b"), ("../b?c", "http://h/a/x", "http://h/b?c"),
      ("b", "no base", "b"), ("http://i/", "http://h/", "http://i/"), ("", "", ""),
    ])
  func `a relative URL is resolved against its base`(
    relative: String, base: String, expected: String
  ) throws {
    let ascii = { (text: String) in
      { (_: UInt8) -> [UInt8] in [0x5f, 0x10, UInt8(text.utf8.count)] + Array(text.utf8) }
    }
    let bytes = PropertyListBytes.object(
      "NSURL", [("NS.relative", ascii(relative)), ("NS.base", ascii(base))])
    #expect(try KeyedArchive.value(bytes) == .string(expected))
  }

  @Test func `a base that is nil leaves the URL as it is`() throws {
    let bytes = PropertyListBytes.object(
      "NSURL", [("NS.relative", { _ in [0x51, 0x61] }), ("NS.base", { _ in [0x80, 0] })])
    #expect(try KeyedArchive.value(bytes) == .string("a"))
  }

  @Test func `an array that holds itself ends at the depth`() {
    let bytes = PropertyListBytes.object(
      "NSArray", [("NS.objects", { more in [0xa1, more] })], more: [[0x80, 1]])
    #expect(KeyedArchive.cause(bytes) == .tooDeep)
  }

  @Test func `a URL that is its own base ends at the depth`() {
    let bytes = PropertyListBytes.object(
      "NSURL", [("NS.relative", { _ in [0x51, 0x61] }), ("NS.base", { _ in [0x80, 1] })])
    #expect(KeyedArchive.cause(bytes) == .tooDeep)
  }

  @Test(arguments: [(559, nil), (560, .tooMuch)] as [(Int, PropertyListError.Cause?)])
  func `the same bytes again and again end at the limit of bytes`(
    count: Int, cause: PropertyListError.Cause?
  ) {
    let data = [0x4f, 0x11, 0x75, 0x30] + [UInt8](repeating: 7, count: 30_000)
    let bytes = PropertyListBytes.object(
      "NSArray",
      [
        (
          "NS.objects",
          { more in
            [0xaf, 0x11, UInt8(count >> 8), UInt8(count & 255)]
              + [UInt8](repeating: more, count: count)
          }
        )
      ], more: [data])
    #expect(KeyedArchive.cause(bytes) == cause)
  }
}
