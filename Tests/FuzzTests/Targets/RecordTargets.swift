@testable import CacheFormat

/// The store, and the segment of its journal, that the inputs are read as parts of.
enum FuzzStore {
  static let description = StoreDescription(
    id: StoreDescription.ID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff),
    hashSeed: 0x0123_4567_89ab_cdef, created: Timestamp(nanoseconds: now))
  static let segment: UInt64 = 1
  static let now: Int64 = 1_800_000_000_000_000_000

  /// The seed of the checksum of the record at a place.
  static func seed(at offset: Int) -> UInt64 {
    RecordFrame.seed(
      hashSeed: description.hashSeed, segment: segment, offset: UInt64(offset))
  }

  /// Reads the record at a place.
  static func record(in bytes: [UInt8], at offset: Int) -> RecordFrame.Reading {
    // Safety: the array outlives the call.
    unsafe bytes.withUnsafeBytes {
      unsafe RecordFrame.read($0, at: offset, seed: seed(at: offset))
    }
  }
}

/// Reads an input as the header of a segment.
func fuzzSegmentHeader(_ input: [UInt8]) {
  let (isSealed, rest) = sealing(input)
  var bytes = rest
  if isSealed, bytes.count >= SegmentHeader.count {
    bytes.set(Checksum.of(Array(bytes.prefix(56))), at: 56)
  }
  switch SegmentHeader.read(bytes) {
  case .damaged: return
  case .newerFormat(let version):
    require(version > SegmentHeader.newestVersion, "a newer one is newer")
  case .header(let header):
    require(header.bytes == Array(bytes.prefix(64)), "a round trip changes nothing")
  }
  for place in 0..<SegmentHeader.count {
    require(SegmentHeader.read(flipped(bytes, at: place)) == .damaged, "a flipped bit is noticed")
    require(SegmentHeader.read(Array(bytes[..<place])) == .damaged, "a cut header is damage")
  }
}

/// Reads an input as records: sealed, as what they say, each `type, u16 bytes, payload`; raw, as the
/// bytes of the journal, in which nobody without the secret seed can make a record.
func fuzzRecords(_ input: [UInt8]) {
  let (isSealed, rest) = sealing(input)
  let bytes = isSealed ? framed(rest) : rest
  var place = 0
  var sequence: UInt64 = 1
  while place < bytes.count {
    guard case .record(let header) = FuzzStore.record(in: bytes, at: place) else {
      require(!isSealed, "a record that was written is read")
      place += RecordFrame.alignment
      continue
    }
    require(
      (RecordFrame.headerCount...RecordFrame.maximumLength).contains(header.length)
        && header.length % RecordFrame.alignment == 0 && header.length <= bytes.count - place,
      "a record has its bounds")
    require(
      header.payloadCount >= 0 && header.payloadCount <= header.length - RecordFrame.headerCount,
      "a payload lies within its record")
    require(!isSealed || header.sequence == sequence, "a sequence number is read as written")
    let record = Array(bytes[place..<place + header.length])
    checkFrame(bytes, at: place, header)
    checkPayload(record, header)
    place += header.length
    sequence += 1
  }
  if !isSealed {
    // Further on no record begins in the middle of another.
    for place in stride(from: 8, to: bytes.count, by: 8) where bytes.count < 4096 {
      if case .record(let header) = FuzzStore.record(in: bytes, at: place) {
        checkFrame(bytes, at: place, header)
      }
    }
  }
}

/// Writes the records of an input one after the other.
private func framed(_ input: [UInt8]) -> [UInt8] {
  var bytes: [UInt8] = []
  var rest = input[...]
  var sequence: UInt64 = 1
  while rest.count >= 3 {
    let type = RecordType(rawValue: rest.removeFirst())
    let count = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8
    let payload = rest.prefix(count)
    rest = rest.dropFirst(count)
    var record = RecordFrame.begin(type, reserving: payload.count)
    record += payload
    RecordFrame.pad(&record)
    RecordFrame.place(&record, sequence: sequence, seed: FuzzStore.seed(at: bytes.count))
    bytes += record
    sequence += 1
  }
  return bytes
}

/// Checks that a record is one only as it is, where it is.
private func checkFrame(_ bytes: [UInt8], at place: Int, _ header: RecordFrame.Header) {
  func isRecord(_ bytes: [UInt8], at place: Int) -> Bool {
    if case .record = FuzzStore.record(in: bytes, at: place) { true } else { false }
  }
  forSomePlaces(of: header.length) { offset in
    require(
      offset >= header.headCount || !isRecord(flipped(bytes, at: place + offset), at: place),
      "a flipped bit of the head is noticed")
    require(!isRecord(Array(bytes[..<(place + offset)]), at: place), "a cut record is none")
  }
  let moved = [UInt8](repeating: 0, count: 8) + bytes[place...]
  require(place == 8 || !isRecord(moved, at: 8), "a record at another place is none")
}

/// Checks what a record says.
private func checkPayload(_ record: [UInt8], _ header: RecordFrame.Header) {
  let payload = Array(record[RecordFrame.headerCount...].prefix(header.payloadCount))
  func said(_ record: [UInt8]) -> [UInt8] {
    Array(record[RecordFrame.headerCount...].dropLast(Int(record[25])))
  }
  switch header.type {
  case .put: checkPut(record, payload)
  case .remove:
    guard let value = RemoveRecord(payload: payload) else { return }
    require(RemoveRecord(payload: said(value.bytes)) == value, "a removal stays the same")
  case .touch:
    let touches = TouchRecord.touches(payload: payload)
    require(touches.count == payload.count / 32, "an access has 32 bytes")
    require(payload.starts(with: said(TouchRecord.bytes(touches))), "accesses stay the same")
  case .limits:
    guard let value = LimitsRecord(payload: payload) else { return }
    require(payload.starts(with: said(value.bytes)), "limits stay the same")
  case .seal:
    guard let next = SealRecord.next(payload: payload) else { return }
    require(payload.starts(with: said(SealRecord.bytes(next: next))), "a seal stays the same")
  case .drop:
    guard let last = DropRecord.through(payload: payload) else { return }
    require(
      payload.starts(with: said(DropRecord.bytes(through: last))), "a drop stays the same")
  default: return
  }
}

private func checkPut(_ bytes: [UInt8], _ payload: [UInt8]) {
  // Safety: the array outlives the call.
  let head = unsafe payload.withUnsafeBytes { unsafe PutHead($0) }
  guard let record = PutRecord(checked: bytes) else { return }
  require(record.head == head, "the index and a hit read the same")
  require((0...999).contains(record.head.status ?? 0), "a status has three digits")
  require(record.hasKey(record.key), "a record has its key")
  require(!record.hasKey(ByteString(bytes: record.key.bytes + [0])), "and no other")
  let texts = record.texts
  let count = (texts.fields + texts.userInfo).reduce(0) { $0 + 8 + $1.name.count + $1.value.count }
  require(
    count + texts.tags.reduce(0) { $0 + 4 + $1.count } + record.key.count <= bytes.count,
    "what is read is not more than was there")
  let again = PutRecord(head: record.head, key: record.key, metadata: record.metadata)
  require(
    again.head == record.head && again.key == record.key && again.texts == texts,
    "a round trip changes nothing")
  guard let moved = PutRecord(checked: record.accessed(7)) else {
    fatalError("an access time leaves a record whole")
  }
  var expected = record.head
  expected.accessed = Timestamp(nanoseconds: 7)
  // The copy has no body.
  (expected.carriesBody, expected.isEmbedded, expected.isSettled) = (false, false, false)
  require(moved.head == expected && moved.texts == texts, "nothing but the access time changes")
}
