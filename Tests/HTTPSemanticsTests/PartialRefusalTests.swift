import HTTPSemantics
import Testing

struct PartialRefusalTests {
  private let range = HTTPField("Content-Range", "bytes 0-4/10")

  @Test func `a part of a known place is not refused`() {
    #expect(PartialRefusal(of: [range], bodyLength: 5) == nil)
    #expect(PartialRefusal(of: [range], bodyLength: nil) == nil)
    #expect(PartialRefusal(of: [range, HTTPField("Content-Length", "5")], bodyLength: nil) == nil)
  }

  @Test func `a part without a place is refused`() {
    #expect(PartialRefusal(of: [], bodyLength: 5) == .noContentRange)
    #expect(PartialRefusal(of: [range, range], bodyLength: 5) == .malformedContentRange)
    let bad = HTTPField("Content-Range", "bytes 4-0/10")
    #expect(PartialRefusal(of: [bad], bodyLength: 5) == .malformedContentRange)
    let many = HTTPField("Content-Type", "Multipart/ByteRanges; boundary=x")
    #expect(PartialRefusal(of: [many], bodyLength: 5) == .severalParts)
  }

  @Test func `a part of another length than it tells is refused`() {
    #expect(PartialRefusal(of: [range], bodyLength: 4) == .otherLength(told: 5, found: 4))
    #expect(PartialRefusal(of: [range], bodyLength: 0) == .otherLength(told: 5, found: 0))
    let length = HTTPField("Content-Length", "6")
    #expect(
      PartialRefusal(of: [range, length], bodyLength: nil) == .otherLength(told: 5, found: 6))
    let right = HTTPField("Content-Length", "5")
    #expect(PartialRefusal(of: [range, right], bodyLength: 4) == .otherLength(told: 5, found: 4))
  }

  @Test func `every refusal says what is wrong`() {
    let all: [PartialRefusal] = [
      .noContentRange, .severalParts, .malformedContentRange, .otherLength(told: 5, found: 4),
    ]
    #expect(Set(all.map(\.description)).count == all.count)
    #expect(all[3].description.contains("4 bytes"))
  }
}
