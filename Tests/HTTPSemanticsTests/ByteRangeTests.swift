import HTTPSemantics
import Testing

struct ByteRangeTests {
  private func range(_ lines: [String], method: HTTPMethod = .get) throws -> ByteRange? {
    ByteRange(
      of: try Stored.get(HTTPFields(lines.map { HTTPField("range", $0) }), method: method))
  }

  @Test(arguments: [
    ("bytes=0-499", ByteRange.between(first: 0, last: 499)), ("bytes=5-", .from(5)),
    ("bytes=-500", .suffix(500)), ("BYTES=0-0", .between(first: 0, last: 0)),
    ("bytes= 0-1 ", .between(first: 0, last: 1)), ("bytes=,0-1,,", .between(first: 0, last: 1)),
    ("bytes=-0", .suffix(0)), ("bytes=007-08", .between(first: 7, last: 8)),
    ("bytes=0-99999999999999999999", .between(first: 0, last: UInt64(Int64.max))),
    ("bytes=99999999999999999999-", .from(UInt64(Int64.max))),
    ("bytes=-99999999999999999999", .suffix(UInt64(Int64.max))),
  ])
  func `one range is read`(text: String, expected: ByteRange) throws {
    #expect(try range([text]) == expected)
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=1", "bytes=5-4", "bytes=0-1-2",
    "bytes=--1", "bytes=+1-2", "bytes=0 - 1", "bytes=0-1;x", "bytes 0-1", "bytes =0-1",
    "items=0-1", "xbytes=0-1", "none=", "bytes=0-1, x",
  ])
  func `a malformed range or one of another unit is ignored`(text: String) throws {
    #expect(try range([text]) == nil)
  }

  @Test func `of several ranges none is read`() throws {
    #expect(try range(["bytes=0-1, 3-4"]) == nil)
    #expect(try range(["bytes=0-1,-5,7-"]) == nil)
    #expect(try range(["bytes=0-1", "bytes=3-4"]) == nil)
  }

  @Test func `only GET has ranges`() throws {
    #expect(try range([]) == nil)
    #expect(try range(["bytes=0-1"], method: .head) == nil)
    #expect(try range(["bytes=0-1"], method: HTTPMethod(rawValue: "POST")) == nil)
  }

  @Test(
    arguments: [
      (ByteRange.between(first: 0, last: 499), 1000, 0...499),
      (.between(first: 500, last: 2000), 1000, 500...999),
      (.between(first: 999, last: 999), 1000, 999...999),
      (.between(first: 1000, last: 1000), 1000, nil), (.between(first: 2, last: 1), 10, nil),
      (.from(0), 1, 0...0), (.from(1), 1, nil), (.from(9), 10, 9...9),
      (.suffix(1), 10, 9...9), (.suffix(10), 10, 0...9), (.suffix(11), 10, 0...9),
      (.suffix(0), 10, nil), (.suffix(.max), 10, 0...9), (.from(0), 0, nil), (.suffix(1), 0, nil),
      (.between(first: 0, last: .max), .max, 0...(.max - 1)),
    ] as [(ByteRange, UInt64, ClosedRange<UInt64>?)])
  func `a range is resolved against a length`(
    wish: ByteRange, length: UInt64, expected: ClosedRange<UInt64>?
  ) {
    #expect(wish.resolve(length: length) == expected)
  }
}
