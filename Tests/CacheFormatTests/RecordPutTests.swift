import TestSupport
import Testing

@testable import CacheFormat

@Suite struct RecordPutTests {
  private static func random(_ count: Int, _ generator: inout SplitMix64) -> ByteString {
    ByteString(bytes: (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }

  private static func fields(_ generator: inout SplitMix64) -> [Field] {
    (0..<Int.random(in: 0...8, using: &generator)).map { _ in
      Field(
        random(.random(in: 0...20, using: &generator), &generator),
        random(.random(in: 0...300, using: &generator), &generator))
    }
  }

  private static func metadata(_ generator: inout SplitMix64) -> EntryMetadata {
    let expires = Timestamp(nanoseconds: .random(in: (.min + 1) ... .max, using: &generator))
    return EntryMetadata(
      status: Bool.random(using: &generator) ? .random(in: 0...999, using: &generator) : nil,
      fields: fields(&generator), userInfo: fields(&generator),
      tags: (0..<Int.random(in: 0...5, using: &generator)).map { _ in
        random(.random(in: 0...40, using: &generator), &generator)
      },
      expires: Bool.random(using: &generator) ? expires : nil)
  }

  private static func head(
    _ metadata: EntryMetadata, _ generator: inout SplitMix64
  ) -> PutHead {
    var head = PutHead(
      keyHash: KeyHash(high: generator.next(), low: generator.next()),
      digest: Digest(high: generator.next(), low: generator.next()), variant: generator.next(),
      length: generator.next(),
      created: Timestamp(nanoseconds: .random(in: .min ... .max, using: &generator)),
      accessed: Timestamp(nanoseconds: .random(in: .min ... .max, using: &generator)),
      expires: metadata.expires, bodyFile: generator.next(),
      overhead: UInt32(truncatingIfNeeded: generator.next()), status: metadata.status,
      isPinned: Bool.random(using: &generator), carriesBody: Bool.random(using: &generator),
      isSpare: Bool.random(using: &generator))
    head.isEmbedded = Bool.random(using: &generator)
    head.isSettled = Bool.random(using: &generator)
    return head
  }

  @Test func `the bytes after the head are those of the body`() {
    var generator = SplitMix64(seed: 1)
    var head = Self.head(EntryMetadata(), &generator)
    (head.length, head.carriesBody, head.isEmbedded) = (13, false, false)
    #expect(head.agrees(withBodyCount: 0) && !head.agrees(withBodyCount: 16))
    head.isEmbedded = true
    #expect(!head.agrees(withBodyCount: 0) && !head.agrees(withBodyCount: 16))
    head.carriesBody = true
    #expect(head.agrees(withBodyCount: 16) && !head.agrees(withBodyCount: 0))
    head.isEmbedded = false
    #expect(head.agrees(withBodyCount: 16) && !head.agrees(withBodyCount: 24))
    head.length = .max
    #expect(!head.agrees(withBodyCount: 16))
  }

  @Test(arguments: 0..<20)
  func `random metadata comes back`(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<50 {
      let metadata = Self.metadata(&generator)
      let head = Self.head(metadata, &generator)
      let key = Self.random(.random(in: 0...2000, using: &generator), &generator)
      let made = PutRecord(head: head, key: key, metadata: metadata)
      #expect(made.bytes.count % 8 == 0)
      let record = try #require(
        PutRecord(checked: RecordFrame.placed(made.bytes, sequence: 1, at: 64)))
      #expect(record.head == head, "seed \(seed)")
      #expect(record.key == key)
      #expect(record.hasKey(key))
      #expect(!record.hasKey(ByteString(bytes: key.bytes + [0])))
      #expect(record.metadata == metadata)
    }
  }

  @Test func `golden bytes are decoded`() throws {
    for (golden, record) in [
      (RecordGolden.put, RecordCase.put), (RecordGolden.putBinary, RecordCase.putBinary),
    ] {
      let read = try #require(PutRecord(checked: golden))
      #expect(read.head == record.head)
      #expect(read.key == record.key)
      #expect(read.metadata == record.metadata)
    }
  }

  @Test func `another access time changes 8 bytes and nothing else`() throws {
    let changed = RecordCase.put.accessed(-5)
    let read = try #require(PutRecord(checked: changed))
    var head = RecordCase.put.head
    head.accessed = Timestamp(nanoseconds: -5)
    #expect(read.head == head)
    let differing = changed.indices.filter { changed[$0] != RecordCase.put.bytes[$0] }
    #expect(differing.allSatisfy { (88..<96).contains($0) })
  }

  @Test(arguments: [0, 13, 16], [nil, 4096] as [UInt32?])
  func `a record carries its body and the moment, and a later access takes the body away`(
    count: Int, overhead: UInt32?
  ) throws {
    let body = [UInt8](repeating: 7, count: count)
    var head = RecordCase.put.head
    (head.digest, head.length) = (Digest(hashing: body), UInt64(count))
    let made = PutRecord(
      head: head, key: RecordCase.put.key, metadata: RecordCase.put.metadata)
    let moment = PutRecord.Moment(
      created: Timestamp(nanoseconds: 1), accessed: Timestamp(nanoseconds: 2),
      isPinned: !head.isPinned)
    (head.created, head.accessed, head.isPinned) = (
      moment.created, moment.accessed, moment.isPinned
    )
    head.carriesBody = true
    #expect(made.at(moment).head == head)
    head.isSettled = overhead != nil
    head.overhead = overhead ?? head.overhead
    let bytes = RecordFrame.placed(
      made.carrying(body, at: moment, settledWith: overhead), sequence: 1, at: 64)
    guard case .record(let header) = RecordFrame.read(bytes, place: 64) else {
      Issue.record("it is no record")
      return
    }
    #expect(header.length == bytes.count && header.bodyCount == RecordFrame.padded(count))
    let (read, carried) = try #require(
      unsafe bytes.withUnsafeBytes {
        unsafe PutHead.carrying(header, $0).map { unsafe ($0.head, Array($0.body)) }
      })
    #expect(read == head && carried == body)
    #expect(read.isUnsettled == (overhead == nil))
    let record = try #require(PutRecord(checked: Array(bytes[..<header.headCount])))
    #expect(record.metadata == RecordCase.put.metadata)
    let later = RecordFrame.placed(
      record.accessed(3, bodyFile: 4, overhead: 5), sequence: 2, at: 64)
    (head.accessed, head.bodyFile, head.overhead) = (Timestamp(nanoseconds: 3), 4, 5)
    (head.carriesBody, head.isSettled) = (false, false)
    #expect(PutRecord(checked: later)?.head == head)
    guard case .record(let bare) = RecordFrame.read(later, place: 64) else {
      Issue.record("it is no record without its body")
      return
    }
    #expect(bare.bodyCount == 0 && bare.length == later.count)
  }

  @Test func `a key is compared whole`() {
    let record = RecordCase.put
    #expect(!record.hasKey("https://example.org/"))
    #expect(!record.hasKey("https://example.org/b"))
    #expect(!record.hasKey(""))
  }

  @Test func `too few bytes or another type are no put record`() {
    for count in 0..<RecordFrame.headerCount + PutHead.count {
      #expect(PutRecord(checked: Array(RecordGolden.put.prefix(count))) == nil)
    }
    #expect(PutRecord(checked: RecordGolden.touch + RecordGolden.touch) == nil)
  }

  @Test func `padding is no part of the payload`() {
    var record = RecordFrame.begin(.put, reserving: PutHead.count)
    record += [UInt8](repeating: 0, count: PutHead.count - 4)
    RecordFrame.pad(&record)
    #expect(record.count == RecordFrame.headerCount + PutHead.count)
    #expect(PutRecord(checked: record) == nil)
  }

  /// The places of the counts, in bytes of the record: of the key, of fields, items and tags, and
  /// those of the first field's name and value.
  @Test(arguments: [(120, 4), (124, 2), (126, 2), (128, 2), (132, 4), (157, 4), (161, 4)])
  func `a count that lies is refused or read up to the end`(place: Int, width: Int) {
    let values: [UInt64] = [0, 1, 5, 22, 40, 148, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff]
    for value in values {
      var bytes = RecordGolden.put
      for index in 0..<width {
        bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
      }
      guard let record = PutRecord(checked: bytes) else {
        #expect(place == 120, "only a key that is too long makes the whole record none")
        continue
      }
      let texts = record.texts
      let count = texts.fields.count + texts.userInfo.count + texts.tags.count
      #expect(count <= bytes.count, "each text takes bytes of the record")
      #expect(record.key.bytes.count <= bytes.count)
    }
  }

  @Test(arguments: 0..<8)
  func `random payloads never trap`(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var read = 0
    for _ in 0..<2000 {
      var bytes = RecordGolden.putBinary
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        bytes[.random(in: 32..<bytes.count, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
      guard let record = PutRecord(checked: bytes) else { continue }
      read += record.key.bytes.count + record.texts.fields.count
    }
    #expect(read > 0, "seed \(seed)")
  }
}
