import Testing

@testable import CacheFormat

@Suite struct RecordFrameTests {
  @Test(arguments: RecordCase.all)
  func `every flipped bit is noticed`(record: RecordCase) {
    for bit in 0..<record.golden.count * 8 {
      var bytes = record.golden
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let reading = RecordFrame.read(bytes, place: record.place)
      // A longer length may ask for bytes that are not there; the record is never taken for whole.
      #expect(
        reading == .damaged || reading == .incomplete && (96..<128).contains(bit), "bit \(bit)")
    }
  }

  @Test(arguments: RecordCase.all)
  func `every cut record is incomplete`(record: RecordCase) {
    for count in 0..<record.golden.count {
      let reading = RecordFrame.read(Array(record.golden.prefix(count)), place: record.place)
      #expect(reading == .incomplete, "\(count) bytes")
    }
  }

  @Test(arguments: RecordCase.all)
  func `what follows a record does not matter`(record: RecordCase) {
    let alone = RecordFrame.read(record.golden, place: record.place)
    #expect(alone != .damaged)
    let between = [0xaa] + record.golden + [UInt8](repeating: 0xff, count: 40)
    #expect(RecordFrame.read(between, at: 1, place: record.place) == alone)
  }

  @Test(arguments: RecordCase.all)
  func `a record at another place, in another segment or store is damaged`(record: RecordCase) {
    for place: UInt64 in [0, record.place &- 8, record.place &+ 8, record.place << 32, .max] {
      #expect(RecordFrame.read(record.golden, place: place) == .damaged)
    }
    for segment: UInt64 in [0, 2, 4, .max] {
      #expect(
        RecordFrame.read(record.golden, place: record.place, segment: segment) == .damaged)
    }
    #expect(
      RecordFrame.read(record.golden, place: record.place, hashSeed: RecordGolden.hashSeed ^ 1)
        == .damaged)
  }

  @Test func `offsets and segments of a journal have seeds of their own`() {
    var seeds: Set<UInt64> = []
    for segment: UInt64 in 1...40 {
      for offset in stride(from: UInt64(64), to: 64 + 8 * 500, by: 8) {
        seeds.insert(RecordFrame.seed(hashSeed: 1, segment: segment, offset: offset))
      }
    }
    #expect(seeds.count == 40 * 500)
  }

  @Test(arguments: [0, 8, 24, 33, 4 << 20 + 8, Int(UInt32.max) / 8 * 8])
  func `a length out of bounds is damage, whatever the checksum says`(length: Int) {
    var bytes = ClearRecord.bytes
    for index in 0..<4 { bytes[12 + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
    bytes += [UInt8](repeating: 0, count: 64)
    #expect(RecordFrame.read(bytes, place: 64) == .damaged)
  }

  @Test(arguments: [8, 9, 255])
  func `padding of 8 bytes and more is damage, also with the right checksum`(padding: UInt8) {
    var bytes = TouchRecord.bytes(RecordCase.touches)
    bytes[25] = padding
    #expect(RecordFrame.read(RecordFrame.placed(bytes, sequence: 1, at: 64), place: 64) == .damaged)
  }

  @Test func `more padding than payload is damage, also with the right checksum`() {
    var bytes = ClearRecord.bytes
    bytes[25] = 1
    #expect(RecordFrame.read(RecordFrame.placed(bytes, sequence: 1, at: 64), place: 64) == .damaged)
  }

  @Test(arguments: 0..<40)
  func `any payload length is padded to a multiple of 8`(count: Int) {
    var bytes = RecordFrame.begin(RecordType(rawValue: 200), reserving: count)
    bytes += [UInt8](repeating: 7, count: count)
    RecordFrame.pad(&bytes)
    let placed = RecordFrame.placed(bytes, sequence: 9, at: 128)
    #expect(
      RecordFrame.read(placed, place: 128)
        == .record(
          RecordFrame.Header(
            length: (32 + count + 7) / 8 * 8, sequence: 9, type: RecordType(rawValue: 200),
            payloadCount: count)))
  }

  @Test func `zeros are damage, and too few of them incomplete`() {
    let zeros = [UInt8](repeating: 0, count: 4096)
    #expect(RecordFrame.read(zeros, place: 64) == .damaged)
    #expect(RecordFrame.read(Array(zeros.prefix(31)), place: 64) == .incomplete)
  }
}
