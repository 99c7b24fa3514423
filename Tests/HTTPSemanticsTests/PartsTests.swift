import HTTPSemantics
import TestSupport
import Testing

struct PartsTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `what parts give equals the slice of the whole`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<300 {
      let length = UInt64.random(in: 1...40, using: &random)
      let whole = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      let parts = try (0..<Int.random(in: 0...6, using: &random)).map { _ in
        let range = Self.range(below: length, &random)
        return try #require(
          ContentRange(first: range.lowerBound, last: range.upperBound, completeLength: length))
      }
      let wanted = Self.range(below: length, &random)
      var position = wanted.lowerBound
      for piece in Parts.cover(wanted, by: parts) {
        switch piece {
        case .stored(let part, let offset, let count):
          let body = whole[Int(parts[part].first)...Int(parts[part].last)]
          let given = body.dropFirst(Int(offset)).prefix(Int(count))
          let meant = whole[Int(position)..<Int(position + count)]
          #expect(given.elementsEqual(meant), "seed \(seed): \(parts) for \(wanted)")
          #expect(count > 0)
          position += count
        case .missing(let range):
          #expect(range.lowerBound == position, "seed \(seed): \(parts) for \(wanted)")
          let isHeld = parts.contains { ($0.first...$0.last).overlaps(range) }
          #expect(!isHeld, "seed \(seed): \(parts) for \(wanted)")
          position = range.upperBound + 1
        }
      }
      #expect(position == wanted.upperBound + 1, "seed \(seed): \(parts) for \(wanted)")
    }
  }

  @Test func `positions at the end of UInt64 are missing without a trap`() {
    #expect(Parts.cover(0...(.max), by: []) == [.missing(0...(.max))])
    #expect(Parts.cover((.max)...(.max), by: []) == [.missing((.max)...(.max))])
  }

  @Test(arguments: [
    // The same strong tag and no other length.
    (["\"a\""], "0-1/10", ["\"a\""], "5-6/10", true),
    (["\"a\""], "0-1/10", ["\"a\""], "5-6/*", true),
    (["\"a\""], "0-1/10", ["\"a\""], "5-6/11", false),
    (["\"a\""], "0-1/10", ["\"b\""], "5-6/10", false),
    (["W/\"a\""], "0-1/10", ["W/\"a\""], "5-6/10", false),
    (["a"], "0-1/10", ["a"], "5-6/10", false),
    (["\"a\""], "0-1/10", [], "5-6/10", false), ([], "0-1/10", [], "5-6/10", false),
    (["\"a\""], "0-1/10", ["\"a\""], "6-5/10", false),
  ])
  func `parts of one strong validator are combined`(
    leftTag: [String], left: String, rightTag: [String], right: String, may: Bool
  ) {
    let left = Stored.part(left, tag: leftTag.first)
    let right = Stored.part(right, tag: rightTag.first)
    #expect(Parts.mayCombine(left, right) == may)
    #expect(Parts.mayCombine(right, left) == may)
  }

  @Test(arguments: [(-60, true), (-59, false)] as [(Int64, Bool)])
  func `a date combines only when it is strong and both have no tag`(age: Int64, may: Bool) {
    let part: HTTPFields = [
      HTTPField("Content-Range", "bytes 0-1/10"), HTTPField("Date", Stored.date(0)),
      HTTPField("Last-Modified", Stored.date(age)),
    ]
    let other = HTTPFields(part + [HTTPField("ETag", "\"a\"")])
    let stored = Stored.response(part, status: 206)
    #expect(Parts.mayCombine(stored, stored) == may)
    #expect(!Parts.mayCombine(stored, Stored.response(other, status: 206)))
  }

  @Test func `codings and statuses have to fit`() {
    let tag = HTTPField("ETag", "\"a\"")
    let range = HTTPField("Content-Range", "bytes 0-1/10")
    let plain = Stored.response([tag, range], status: 206)
    let coded = Stored.response([tag, range, HTTPField("Content-Encoding", "br")], status: 206)
    #expect(!Parts.mayCombine(plain, coded))
    #expect(Parts.mayCombine(coded, coded))
    for status in [200, 404] {
      #expect(!Parts.mayCombine(plain, Stored.response([tag, range], status: status)))
    }
  }

  private static func range(
    below length: UInt64, _ random: inout SplitMix64
  ) -> ClosedRange<UInt64> {
    let first = UInt64.random(in: 0..<length, using: &random)
    return first...UInt64.random(in: first..<length, using: &random)
  }
}
