import CacheFormat
import Testing

@Suite struct SegmentHeaderTests {
  private let header = SegmentHeader(
    storeID: RecordGolden.storeID, hashSeed: RecordGolden.hashSeed, number: RecordGolden.segment,
    created: Timestamp(nanoseconds: RecordGolden.time))

  @Test func `a header is written as its golden bytes and read back`() {
    #expect(header.bytes == RecordGolden.header)
    #expect(SegmentHeader.read(RecordGolden.header) == .header(header))
    #expect(SegmentHeader.read(RecordGolden.header + [1, 2, 3]) == .header(header))
  }

  @Test func `every flipped bit is damage`() {
    for bit in 0..<SegmentHeader.count * 8 {
      var bytes = RecordGolden.header
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(SegmentHeader.read(bytes) == .damaged, "bit \(bit)")
    }
  }

  @Test func `every cut header is damage`() {
    for count in 0..<SegmentHeader.count {
      #expect(SegmentHeader.read(Array(RecordGolden.header.prefix(count))) == .damaged)
    }
  }

  @Test func `a newer version is told apart from damage`() {
    var bytes = Array(RecordGolden.header.prefix(56))
    bytes[8] = 2
    let sum = Checksum.of(bytes)
    bytes += (0..<8).map { UInt8(truncatingIfNeeded: sum >> UInt64(8 * $0)) }
    #expect(SegmentHeader.read(bytes) == .newerFormat(2))
  }
}
