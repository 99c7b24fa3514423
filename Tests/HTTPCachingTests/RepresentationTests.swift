import CacheFormat
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct RepresentationTests {
  private func part(
    _ number: UInt64, _ range: ClosedRange<Int>, of length: String = "1000",
    tag: String? = "\"1\"", _ more: [HTTPField] = []
  ) throws -> StoredVariant {
    try storedVariant(
      "a", number, status: 206, partFields(range, of: length, tag: tag, more), bytes: range.count)
  }

  private func find(
    _ matching: [StoredVariant], _ asked: HTTPRequest
  ) -> (base: UInt64, parts: [UInt64], answer: RangeAnswer, length: UInt64?)? {
    Representation(matching, asked, now: moment(0).date).map {
      ($0.base.info.variant, $0.parts.map(\.info.variant), $0.answer, $0.completeLength)
    }
  }

  @Test func `the newest response that can answer is taken, be it whole or a part`() throws {
    let whole = try storedVariant("a", 7, bytes: 1000)
    let old = try part(8, 0...99)
    let new = try part(9, 500...599, tag: "\"2\"")
    let matching = [new, whole, old]
    #expect(try #require(find(matching, ranged("510-519"))).base == 9)
    #expect(try #require(find(matching, ranged("0-9"))) == (7, [], .part(0...9), 1000))
    #expect(try #require(find(matching, request())) == (7, [], .whole, 1000))
    // Without the whole one, an older part answers.
    #expect(try #require(find([new, old], ranged("0-9"))).base == 8)
    #expect(find([new, old], request()) == nil)
    #expect(find([], request()) == nil)
  }

  @Test func `a part is none of a whole response with its number`() throws {
    let matching = [try part(7, 0...9), try storedVariant("a", 7, bytes: 1000)]
    #expect(try #require(find(matching, ranged("0-9"))) == (7, [7], .part(0...9), 1000))
  }

  @Test func `a whole response of no bytes answers, and has no range`() throws {
    let empty = try storedVariant("a", 7, bytes: 0)
    #expect(try #require(find([empty], request())) == (7, [], .whole, 0))
    #expect(try #require(find([empty], ranged("0-0"))).answer == .unsatisfiable(length: 0))
    #expect(try #require(find([empty], ranged("-1"))).answer == .whole)
  }

  @Test func `parts of one state are taken together, and no others`() throws {
    let matching = [
      try part(1, 900...999), try part(2, 0...99, tag: "\"2\""), try part(3, 0...499),
      try part(4, 400...899, [HTTPField("Content-Encoding", "gzip")]), try part(5, 450...899),
      try part(6, 0...9, of: "1001"), try storedVariant("a", 7, status: 404, bytes: 10),
    ]
    let found = try #require(find(matching, request()))
    #expect(found == (1, [1, 3, 5], .whole, 1000))
    #expect(try #require(find(matching, ranged("999-"))).answer == .part(999...999))
    #expect(try #require(find(matching, ranged("1000-"))).answer == .unsatisfiable(length: 1000))
  }

  @Test(arguments: [nil, "W/\"1\"", "1", ""])
  func `a part without a strong tag stands alone`(tag: String?) throws {
    let matching = [try part(1, 0...499, tag: tag), try part(2, 500...999, tag: tag)]
    #expect(find(matching, request()) == nil)
    #expect(try #require(find(matching, ranged("600-699"))) == (2, [2], .part(600...699), 1000))
  }

  @Test(arguments: [(nil, false), (59, false), (60, true)] as [(Int64?, Bool)])
  func `a date combines parts only if it is strong by the Date that came with their bytes`(
    seconds: Int64?, isStrong: Bool
  ) throws {
    // A 304 has come since.
    let dates = [
      HTTPField("Last-Modified", moment(0).date.description),
      HTTPField("Date", moment(5000).date.description),
    ]
    let userInfo = seconds.map { [Field("http-body-date", "\(moment($0).date.seconds)")] } ?? []
    let matching = try [0...499, 500...999].enumerated().map { number, range in
      try storedVariant(
        "a", UInt64(number), status: 206, partFields(range, tag: nil, dates), bytes: 500,
        userInfo: userInfo)
    }
    #expect((find(matching, request()) != nil) == isStrong)
  }

  @Test func `the length is known from any of the parts`() throws {
    let unknown = try part(1, 0...9, of: "*")
    #expect(try #require(find([unknown], ranged("0-9"))) == (1, [1], .part(0...9), nil))
    // Without a length, neither an end nor the whole can be found.
    for asked in [ranged("5-"), ranged("-1"), ranged("0-10"), request()] {
      #expect(find([unknown], asked) == nil)
    }
    let known = try part(2, 5...19, of: "20")
    #expect(try #require(find([unknown, known], ranged("5-"))) == (1, [1, 2], .part(5...19), 20))
    #expect(try #require(find([unknown, known], request())).answer == .whole)
  }

  @Test func `the last positions that there are can be asked for`() throws {
    let last = Int.max - 1
    let part = try storedVariant(
      "a", 1, status: 206, partFields(last...last, of: "\(Int.max)"), bytes: 1)
    let position = UInt64(last)
    #expect(try #require(find([part], ranged("-1"))).answer == .part(position...position))
    #expect(find([part], request()) == nil)
    #expect(find([part], ranged("0-\(Int.max)")) == nil)
  }
}
