import TestSupport
import Testing

@testable import CacheFormat

@Suite struct RecordBytesTests {
  @Test(arguments: [UInt64(1), 2])
  func `numbers of every width come back in their order`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<500 {
      let values = (0..<random.below(20)).map { _ in (random.below(4), random.next()) }
      var bytes: [UInt8] = [0xAA]
      for (width, value) in values {
        switch width {
        case 0: bytes.append(littleEndian: UInt8(truncatingIfNeeded: value))
        case 1: bytes.append(littleEndian: UInt16(truncatingIfNeeded: value))
        case 2: bytes.append(littleEndian: UInt32(truncatingIfNeeded: value))
        default: bytes.append(littleEndian: value)
        }
      }
      var cursor = RecordCursor(bytes + [0xBB], from: 1, to: bytes.count)
      for (width, value) in values {
        let found =
          switch width {
          case 0: cursor.number(UInt8.self).map { UInt64($0) }
          case 1: cursor.number(UInt16.self).map { UInt64($0) }
          case 2: cursor.number(UInt32.self).map { UInt64($0) }
          default: cursor.number(UInt64.self)
          }
        let mask: [UInt64] = [0xFF, 0xFFFF, 0xFFFF_FFFF, .max]
        #expect(found == value & mask[width])
      }
      #expect(cursor.position == bytes.count)
      let behind = cursor.number(UInt8.self)
      #expect(behind == nil, "the byte behind the part is not read")
    }
  }

  @Test func `the least significant byte comes first`() {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt32(0x0102_0304))
    #expect(bytes == [4, 3, 2, 1])
    bytes.set(UInt16(0x0A0B), at: 2)
    #expect(bytes == [4, 3, 0x0B, 0x0A])
  }

  @Test func `a number or text that reaches beyond the part is not read, and nothing is consumed`()
  {
    let bytes = [UInt8](1...10)
    var cursor = RecordCursor(bytes, from: 3, to: 8)
    let number = cursor.number(UInt64.self)
    let texts = [6, -1, .max, .min].map { cursor.text($0) }
    #expect(number == nil && texts == [nil, nil, nil, nil] && cursor.position == 3)
    let four = cursor.number(UInt32.self)
    #expect(four == 0x0706_0504)
    let (one, none) = (cursor.text(1), cursor.text(0))
    #expect(one?.bytes == [8] && none?.bytes == [])
    let behind = cursor.number(UInt8.self)
    #expect(behind == nil)
  }
}
