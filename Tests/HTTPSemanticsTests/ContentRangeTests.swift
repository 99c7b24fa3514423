import HTTPSemantics
import Testing

struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-4/10", 0, 4, 10), ("bytes 9-9/10", 9, 9, 10), ("BYTES 0-0/1", 0, 0, 1),
      ("bytes 5-6/*", 5, 6, nil), (" bytes 007-010/0011 ", 7, 10, 11),
      ("bytes 0-1/9223372036854775807", 0, 1, 9_223_372_036_854_775_807),
    ] as [(String, UInt64, UInt64, UInt64?)])
  func `a range is read`(text: String, first: UInt64, last: UInt64, length: UInt64?) throws {
    let range = try #require(ContentRange(Array(text.utf8)))
    #expect(range.first == first && range.last == last)
    #expect(range.completeLength == length)
    #expect(range.count == last - first + 1)
    #expect(ContentRange(Array(range.fieldValue.utf8)) == range)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes 0-4", "bytes 0-4/", "bytes 4-0/10", "bytes 0-10/10",
    "bytes 0-4/4", "bytes -4/10", "bytes 0-/10", "bytes=0-4/10", "bytes  0-4/10", "bytes 0 -4/10",
    "bytes 0-4 /10", "bytes 0-4/ 10", "bytes +0-4/10", "bytes 0--4/10", "bytes 0-4/-1",
    "bytes 0-4/10, bytes 5-9/10", "bytes */10", "items 0-4/10", "bytesx 0-4/10", "bytes 0x0-4/10",
    "bytes 0-18446744073709551616/*", "bytes 0-9223372036854775807/*",
    "bytes 18446744073709551615-18446744073709551615/*", "bytes 0-4/99999999999999999999",
  ])
  func `a range that makes no sense is none`(text: String) {
    #expect(ContentRange(Array(text.utf8)) == nil)
  }

  @Test func `a message has one Content-Range`() {
    let line = HTTPField("content-range", "bytes 0-4/10")
    #expect(ContentRange(of: [line])?.count == 5)
    #expect(ContentRange(of: []) == nil)
    #expect(ContentRange(of: [line, line]) == nil)
    #expect(ContentRange(of: [HTTPField("Content-Range", "x")]) == nil)
  }

  @Test func `a range is made only within its representation`() {
    #expect(ContentRange(first: 0, last: 4, completeLength: 5) != nil)
    #expect(ContentRange(first: 0, last: 4, completeLength: nil) != nil)
    #expect(ContentRange(first: 5, last: 4, completeLength: nil) == nil)
    #expect(ContentRange(first: 0, last: 5, completeLength: 5) == nil)
    #expect(ContentRange(first: 0, last: .max, completeLength: nil) == nil)
    #expect(ContentRange(first: 0, last: 1, completeLength: .max) == nil)
  }

  @Test func `a 416 tells the length`() {
    #expect(ContentRange.unsatisfiedFieldValue(completeLength: 10) == "bytes */10")
  }
}
