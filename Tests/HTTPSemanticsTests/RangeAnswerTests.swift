import HTTPSemantics
import Testing

struct RangeAnswerTests {
  private func answer(
    _ fields: HTTPFields, from stored: HTTPFields = [], status: Int = 200, length: UInt64 = 10,
    method: HTTPMethod = .get
  ) throws -> RangeAnswer {
    RangeAnswer.answer(
      to: try Stored.get(fields, method: method), from: Stored.response(stored, status: status),
      length: length, now: Stored.noon)
  }

  private func answer(
    _ range: String?, fromParts parts: [StoredResponse], _ more: HTTPFields = []
  ) throws -> RangeAnswer {
    var fields = more
    if let range { fields.append(HTTPField("Range", range)) }
    return RangeAnswer.answer(to: try Stored.get(fields), fromParts: parts, now: Stored.noon)
  }

  @Test(
    arguments: [
      ("bytes=0-1", .part(0...1)), ("bytes=1-", .part(1...9)), ("bytes=-1", .part(9...9)),
      ("bytes=8-20", .part(8...9)), ("bytes=10-", .unsatisfiable(length: 10)),
      ("bytes=-0", .unsatisfiable(length: 10)), ("bytes=0-1,3-4", .whole), ("items=0-1", .whole),
      ("bytes=4-2", .whole),
    ] as [(String, RangeAnswer)])
  func `a whole answers a range`(range: String, expected: RangeAnswer) throws {
    #expect(try answer([HTTPField("Range", range)]) == expected)
  }

  @Test func `an empty whole has an end but no first byte`() throws {
    #expect(try answer([HTTPField("Range", "bytes=-5")], length: 0) == .whole)
    let first = try answer([HTTPField("Range", "bytes=0-")], length: 0)
    #expect(first == .unsatisfiable(length: 0))
  }

  @Test func `a range counts for GET and status 200 only`() throws {
    let range: HTTPFields = [HTTPField("Range", "bytes=0-1")]
    #expect(try answer([]) == .whole)
    #expect(try answer(range, status: 404) == .whole)
    #expect(try answer(range, method: .head) == .whole)
  }

  @Test(arguments: [
    ("\"a\"", true), ("\"b\"", false), ("W/\"a\"", false), ("a", false), ("", false),
    ("Wed, 01 Jan 2020 11:00:00 GMT", true), ("Wednesday, 01-Jan-20 11:00:00 GMT", true),
    ("Wed, 01 Jan 2020 11:00:01 GMT", false), ("Wed, 01 Jan 2020 10:59:59 GMT", false),
  ])
  func `If-Range has to name just the stored bytes`(condition: String, holds: Bool) throws {
    let stored: HTTPFields = [
      HTTPField("ETag", "\"a\""), HTTPField("Date", Stored.date(0)),
      HTTPField("Last-Modified", Stored.date(-3600)),
    ]
    let request: HTTPFields = [HTTPField("Range", "bytes=0-1"), HTTPField("If-Range", condition)]
    #expect(try answer(request, from: stored) == (holds ? .part(0...1) : .whole))
  }

  @Test func `If-Range never holds for a weak validator or twice`() throws {
    let tag = HTTPField("If-Range", "W/\"a\"")
    let range = HTTPField("Range", "bytes=0-1")
    #expect(try answer([range, tag], from: [HTTPField("ETag", "W/\"a\"")]) == .whole)
    // 59 seconds between Last-Modified and Date are too few to be sure.
    let recent: HTTPFields = [
      HTTPField("Date", Stored.date(0)), HTTPField("Last-Modified", Stored.date(-59)),
    ]
    #expect(
      try answer([range, HTTPField("If-Range", Stored.date(-59))], from: recent) == .whole)
    let strong = HTTPField("If-Range", "\"a\"")
    let stored: HTTPFields = [HTTPField("ETag", "\"a\"")]
    #expect(try answer([range, strong, strong], from: stored) == .whole)
  }

  @Test(arguments: [
    ("bytes=2-3", RangeAnswer.part(2...3)), ("bytes=2-5", .part(2...5)),
    ("bytes=0-3", .unanswerable),
    ("bytes=4-6", .unanswerable), ("bytes=-3", .unanswerable),
    ("bytes=10-", .unsatisfiable(length: 10)),
    ("bytes=2-3,4-5", .unanswerable), ("bytes=x", .unanswerable),
  ])
  func `stored parts answer what they cover`(range: String, expected: RangeAnswer) throws {
    let parts = [Stored.part("4-5/10"), Stored.part("2-4/10")]
    #expect(try answer(range, fromParts: parts) == expected)
  }

  @Test func `a part to the end answers open ranges and suffixes`() throws {
    let parts = [Stored.part("4-9/10")]
    #expect(try answer("bytes=6-", fromParts: parts) == .part(6...9))
    #expect(try answer("bytes=-2", fromParts: parts) == .part(8...9))
    #expect(try answer("bytes=6-100", fromParts: parts) == .part(6...9))
    #expect(try answer("bytes=-7", fromParts: parts) == .unanswerable)
  }

  @Test func `without a known length nothing is counted from the end`() throws {
    let parts = [Stored.part("4-9/*")]
    #expect(try answer("bytes=5-9", fromParts: parts) == .part(5...9))
    #expect(try answer("bytes=5-10", fromParts: parts) == .unanswerable)
    #expect(try answer("bytes=5-", fromParts: parts) == .unanswerable)
    #expect(try answer("bytes=-1", fromParts: parts) == .unanswerable)
    #expect(try answer(nil, fromParts: [Stored.part("0-9/*")]) == .unanswerable)
  }

  @Test func `a part is never the whole, all parts together are`() throws {
    #expect(try answer(nil, fromParts: [Stored.part("0-8/10")]) == .unanswerable)
    #expect(try answer(nil, fromParts: [Stored.part("1-9/10")]) == .unanswerable)
    #expect(try answer(nil, fromParts: [Stored.part("0-9/10")]) == .whole)
    #expect(try answer(nil, fromParts: [Stored.part("5-9/10"), Stored.part("0-4/10")]) == .whole)
    #expect(try answer(nil, fromParts: []) == .unanswerable)
  }

  @Test func `a part has a length of its own and no digest of the whole`() {
    let tag = HTTPField("ETag", "\"a\"")
    let whole: HTTPFields = [
      HTTPField("Content-Length", "10"), HTTPField("Content-Digest", "x"), tag,
      HTTPField("Content-MD5", "x"), HTTPField("Content-Type", "a/b"),
    ]
    var head = HTTPResponseHead(status: 200, fields: whole)
    #expect(head.limit(to: .whole, completeLength: 10) == nil && head.fields == whole)
    var none = head
    #expect(head.limit(to: .part(2...4), completeLength: 10) == 2..<5)
    #expect(head.status == 206)
    #expect(
      head.fields == [
        tag, whole[4], HTTPField("Content-Range", "bytes 2-4/10"), HTTPField("Content-Length", "3"),
      ])
    #expect(none.limit(to: .unsatisfiable(length: 10), completeLength: 10) == 0..<0)
    #expect(none.status == 416)
    #expect(
      none.fields == [
        tag, HTTPField("Content-Range", "bytes */10"), HTTPField("Content-Length", "0"),
      ])
  }

  @Test func `If-Range on parts asks for the whole when it does not hold`() throws {
    let other: HTTPFields = [HTTPField("If-Range", "\"b\"")]
    let same: HTTPFields = [HTTPField("If-Range", "\"a\"")]
    let parts = [Stored.part("0-4/10")]
    #expect(try answer("bytes=0-1", fromParts: parts, same) == .part(0...1))
    #expect(try answer("bytes=0-1", fromParts: parts, other) == .unanswerable)
    #expect(try answer("bytes=0-1", fromParts: [Stored.part("0-9/10")], other) == .whole)
  }
}
