import Testing

@testable import CacheFormat

/// A record of the golden store: what the code makes, and what it has to be.
struct RecordCase: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var made: [UInt8]
  var golden: [UInt8]
  var sequence: UInt64
  var place: UInt64
  var type: RecordType
  var payloadCount: Int

  static let put = PutRecord(
    head: PutHead(
      keyHash: RecordGolden.keyHash, digest: RecordGolden.digest, variant: 0, length: 6,
      created: Timestamp(nanoseconds: RecordGolden.time),
      accessed: Timestamp(nanoseconds: RecordGolden.time + 1), expires: nil, bodyFile: 7,
      overhead: 8192, status: 200, isPinned: false),
    key: "https://example.org/a",
    metadata: EntryMetadata(status: 200, fields: [Field("etag", "\"5f\"")], tags: ["x"]))

  static let putBinary = PutRecord(
    head: PutHead(
      keyHash: KeyHash(high: .max, low: .max), digest: Digest(high: 1 << 63, low: 0),
      variant: .max, length: .max, created: Timestamp(nanoseconds: .min + 1),
      accessed: Timestamp(nanoseconds: .max), expires: Timestamp(nanoseconds: 5), bodyFile: .max,
      overhead: .max, status: nil, isPinned: true),
    key: ByteString(bytes: [0xff, 0, 0x6b]),
    metadata: EntryMetadata(
      fields: [Field("", ""), Field("a", ByteString(bytes: [0, 0xff]))],
      userInfo: [Field("n", "v")], tags: ["", ByteString(bytes: [0x74, 0xc3])]))

  static let touches = [
    Touch(
      keyHash: RecordGolden.keyHash, variant: 0,
      accessed: Timestamp(nanoseconds: RecordGolden.time + 2)),
    Touch(
      keyHash: KeyHash(high: 1, low: 2), variant: 3, accessed: Timestamp(nanoseconds: -4)),
  ]
  static let limits = LimitsRecord(values: [1 << 30, .max, 1 << 20, 0, .max, 1])
  static let remove = RemoveRecord(keyHash: RecordGolden.keyHash, variant: 0, reason: .bytes)

  static let all = [
    RecordCase("put", put.bytes, RecordGolden.put, 1000, 64, .put, 146),
    RecordCase("touch", TouchRecord.bytes(touches), RecordGolden.touch, 1001, 248, .touch, 64),
    RecordCase("limits", limits.bytes, RecordGolden.limits, 1002, 344, .limits, 48),
    RecordCase("remove", remove.bytes, RecordGolden.remove, 1003, 424, .remove, 32),
    RecordCase("clear", ClearRecord.bytes, RecordGolden.clear, 1004, 488, .clear, 0),
    RecordCase("drop", DropRecord.bytes(through: 2), RecordGolden.drop, 1005, 520, .drop, 8),
    RecordCase("seal", SealRecord.bytes(next: 4), RecordGolden.seal, 1006, 560, .seal, 8),
    RecordCase(
      "put of extremes", putBinary.bytes, RecordGolden.putBinary, .max, 600, .put, 146),
  ]

  init(
    _ name: String, _ made: [UInt8], _ golden: [UInt8], _ sequence: UInt64, _ place: UInt64,
    _ type: RecordType, _ payloadCount: Int
  ) {
    testDescription = name
    self.made = made
    self.golden = golden
    self.sequence = sequence
    self.place = place
    self.type = type
    self.payloadCount = payloadCount
  }

  /// The payload as the frame delimits it.
  var payload: [UInt8] {
    let begin = RecordFrame.headerCount
    return Array(golden[begin..<begin + payloadCount])
  }
}

@Suite struct RecordGoldenTests {
  @Test(arguments: RecordCase.all)
  func `a record is written as its golden bytes`(record: RecordCase) {
    let made = RecordFrame.placed(record.made, sequence: record.sequence, at: record.place)
    #expect(made == record.golden)
  }

  @Test(arguments: RecordCase.all)
  func `golden bytes are read as their record`(record: RecordCase) {
    let header = RecordFrame.Header(
      length: record.golden.count, sequence: record.sequence, type: record.type,
      payloadCount: record.payloadCount)
    #expect(RecordFrame.read(record.golden, place: record.place) == .record(header))
  }

  @Test func `the payloads say what was written`() {
    let payloads = Dictionary(
      uniqueKeysWithValues: RecordCase.all.map { ($0.testDescription, $0.payload) })
    #expect(RemoveRecord(payload: payloads["remove"] ?? []) == RecordCase.remove)
    #expect(TouchRecord.touches(payload: payloads["touch"] ?? []) == RecordCase.touches)
    #expect(LimitsRecord(payload: payloads["limits"] ?? []) == RecordCase.limits)
    #expect(DropRecord.through(payload: payloads["drop"] ?? []) == 2)
    #expect(SealRecord.next(payload: payloads["seal"] ?? []) == 4)
  }

  @Test func `key hash and digest of the golden put are those of its key and body`() {
    #expect(
      KeyHash(hashing: "https://example.org/a", seed: RecordGolden.hashSeed)
        == RecordGolden.keyHash)
    #expect(Digest(hashing: Array("hello\n".utf8)) == RecordGolden.digest)
  }

  @Test func `every record begins at a multiple of 8 bytes and ends at one`() {
    for record in RecordCase.all {
      #expect(record.golden.count % RecordFrame.alignment == 0)
    }
  }
}
