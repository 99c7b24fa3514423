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
    #expect(SegmentHeader.read(changed(8, to: 3)) == .newerFormat(3))
  }

  @Test func `a segment that may have bodies has version 2`() {
    var newer = header
    newer.version = 2
    #expect(SegmentHeader.read(newer.bytes) == .header(newer))
    newer.unsynced = .max
    #expect(SegmentHeader.read(newer.bytes) == .header(newer))
  }

  @Test func `a version that never was, and a header of another length, are damage`() {
    #expect(SegmentHeader.read(changed(8, to: 0)) == .damaged)
    #expect(SegmentHeader.read(changed(12, to: 72)) == .damaged)
  }

  /// The golden header with another byte, and the checksum that fits.
  private func changed(_ place: Int, to byte: UInt8) -> [UInt8] {
    var bytes = Array(RecordGolden.header.prefix(56))
    bytes[place] = byte
    let sum = Checksum.of(bytes)
    return bytes + (0..<8).map { UInt8(truncatingIfNeeded: sum >> UInt64(8 * $0)) }
  }
}
