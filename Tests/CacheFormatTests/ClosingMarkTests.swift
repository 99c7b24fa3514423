import CacheFormat
import Testing

@Suite struct ClosingMarkTests {
  private static let mark = ClosingMark(sequence: 0x0102_0304, boot: 5)
  private static let bytes = mark.encoded(hashSeed: 7)

  @Test func `a mark is written as the format says and read back`() {
    #expect(
      Array(Self.bytes.prefix(24))
        == Array("OCCLOSED".utf8) + [4, 3, 2, 1, 0, 0, 0, 0] + [5, 0, 0, 0, 0, 0, 0, 0])
    #expect(Self.bytes.count == ClosingMark.count)
    #expect(ClosingMark(decoding: Self.bytes, hashSeed: 7) == Self.mark)
    let lasting = ClosingMark(sequence: 9, boot: nil)
    #expect(ClosingMark(decoding: lasting.encoded(hashSeed: 7), hashSeed: 7) == lasting)
  }

  @Test func `a mark that was changed or cut, or is of another store, is none`() {
    for bit in 0..<ClosingMark.count * 8 {
      var bytes = Self.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(ClosingMark(decoding: bytes, hashSeed: 7) == nil, "bit \(bit)")
    }
    for count in 0..<ClosingMark.count {
      #expect(ClosingMark(decoding: Array(Self.bytes.prefix(count)), hashSeed: 7) == nil)
    }
    #expect(ClosingMark(decoding: Self.bytes, hashSeed: 8) == nil)
  }
}
