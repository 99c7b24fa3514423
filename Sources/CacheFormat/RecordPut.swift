/// The part of a put record with a fixed length, from which the index is built.
///
///     0  key hash   high u64, low u64
///     16 digest     high u64, low u64
///     32 variant    u64
///     40 length     u64  bytes of the body
///     48 created    i64  nanoseconds since 1970
///     56 accessed   i64
///     64 expires    i64, the least number for none
///     72 body file  u64  a number: entries with equal digests and equal lower 32 bits share a file
///     80 overhead   u32  bytes allocated for the metadata file and the directory
///     84 status     u16, 65535 for none
///     86 flags      u16  1: pinned; 2: the record carries the body; 4: it has the tag `spare`; 8 (in
///                        the journal only with 2): the metadata file has the body; 16: the files
///                        are there; others are ignored
///     88 key count  u32
///     92 fields     u16, user items u16, tags u16, 2 bytes of 0
///     100 texts     u32  bytes of all texts after the key
///     104 key, then each field and user item (u32 name count, u32 value count, name, value), then
///         each tag (u32 count, bytes). Further bytes are ignored.
package struct PutHead: Sendable, Hashable {
  /// The number of bytes of the fixed part.
  package static let count = 104

  package var keyHash: KeyHash
  package var digest: Digest
  package var variant: UInt64
  /// The number of bytes of the body.
  package var length: UInt64
  package var created: Timestamp
  package var accessed: Timestamp
  package var expires: Timestamp?
  /// The number of the body's file. Entries with equal digests and equal lower 32 bits of this
  /// number share one file.
  package var bodyFile: UInt64
  /// The number of bytes allocated for the metadata file and the directory.
  package var overhead: UInt32
  /// The status, 0 to 999; `nil` if there is none.
  package var status: Int?
  package var isPinned: Bool
  /// Whether the body follows the head of the record.
  package var carriesBody: Bool
  /// Whether the entry has the tag `spare`.
  package var isSpare: Bool
  /// Whether the metadata file has the body, or will have it, so that there is no body file.
  package var isEmbedded = false
  /// Whether the files of the entry are there although the record carries the body.
  package var isSettled = false

  /// Whether only the record has the entry.
  package var isUnsettled: Bool { carriesBody && !isSettled }

  package init(
    keyHash: KeyHash, digest: Digest, variant: UInt64, length: UInt64, created: Timestamp,
    accessed: Timestamp, expires: Timestamp?, bodyFile: UInt64, overhead: UInt32, status: Int?,
    isPinned: Bool, carriesBody: Bool = false, isSpare: Bool = false
  ) {
    self.keyHash = keyHash
    self.digest = digest
    self.variant = variant
    self.length = length
    self.created = created
    self.accessed = accessed
    self.expires = expires
    self.bodyFile = bodyFile
    self.overhead = overhead
    self.status = status
    self.isPinned = isPinned
    self.carriesBody = carriesBody
    self.isSpare = isSpare
  }

  /// Returns whether a record with this fixed part may have so many bytes after its head.
  package func agrees(withBodyCount count: Int) -> Bool {
    carriesBody
      ? length <= UInt64(RecordFrame.maximumLength) && RecordFrame.padded(Int(length)) == count
      : count == 0 && !isEmbedded
  }

  /// Returns the fixed part of a checked record that carries its body, and the body as a part of the
  /// bytes; `nil` for any other record.
  package static func carrying(
    _ header: RecordFrame.Header, _ record: UnsafeRawBufferPointer
  ) -> (head: PutHead, body: UnsafeRawBufferPointer)? {
    guard header.type == .put, let head = unsafe PutHead(header.payload(of: record)),
      head.carriesBody, head.agrees(withBodyCount: header.bodyCount)
    else { return nil }
    // Safety: the body lies within the record, because the header agrees with its length.
    return unsafe (
      head,
      UnsafeRawBufferPointer(rebasing: record[header.headCount...].prefix(Int(head.length)))
    )
  }

  /// Returns whether the payload of a put record says that the metadata file has the body.
  package static func isEmbedded(_ payload: UnsafeRawBufferPointer) -> Bool {
    // Safety: the byte lies within the payload.
    unsafe payload.count >= count && payload[86] & 8 != 0
  }

  /// Reads the fixed part from a payload; `nil` if the payload is too short.
  @inline(__always)
  package init?(_ payload: UnsafeRawBufferPointer) {
    guard payload.count >= Self.count else { return nil }
    unsafe self.init(fixed: payload)
  }

  /// Reads the fixed part from at least `count` bytes.
  @inline(__always)
  fileprivate init(fixed payload: UnsafeRawBufferPointer) {
    // Safety: every load lies within the 104 bytes that were checked.
    func number(_ offset: Int) -> UInt64 {
      unsafe UInt64(littleEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    func short(_ offset: Int) -> UInt16 {
      unsafe UInt16(littleEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
    func time(_ offset: Int) -> Timestamp {
      Timestamp(nanoseconds: Int64(bitPattern: number(offset)))
    }
    let status = short(84)
    let expires = time(64)
    self.init(
      keyHash: KeyHash(high: number(0), low: number(8)),
      digest: Digest(high: number(16), low: number(24)),
      variant: number(32), length: number(40), created: time(48), accessed: time(56),
      expires: expires == .distantPast ? nil : expires, bodyFile: number(72),
      overhead: UInt32(truncatingIfNeeded: number(80)),
      status: status > 999 ? nil : Int(status), isPinned: short(86) & 1 != 0,
      carriesBody: short(86) & 2 != 0, isSpare: short(86) & 4 != 0)
    isEmbedded = short(86) & 8 != 0
    isSettled = short(86) & 16 != 0
  }

  private var flags: UInt16 {
    (isPinned ? 1 : 0) | (carriesBody ? 2 : 0) | (isSpare ? 4 : 0) | (isEmbedded ? 8 : 0)
      | (isSettled ? 16 : 0)
  }

  fileprivate func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: keyHash.high)
    bytes.append(littleEndian: keyHash.low)
    bytes.append(littleEndian: digest.high)
    bytes.append(littleEndian: digest.low)
    bytes.append(littleEndian: variant)
    bytes.append(littleEndian: length)
    bytes.append(littleEndian: UInt64(bitPattern: created.nanoseconds))
    bytes.append(littleEndian: UInt64(bitPattern: accessed.nanoseconds))
    bytes.append(
      littleEndian: UInt64(bitPattern: (expires ?? .distantPast).nanoseconds))
    bytes.append(littleEndian: bodyFile)
    bytes.append(littleEndian: overhead)
    bytes.append(littleEndian: status.map { UInt16($0) } ?? .max)
    bytes.append(littleEndian: flags)
  }
}

/// The texts of a put record, after its key.
package struct PutTexts: Sendable, Hashable {
  package var fields: [Field]
  package var userInfo: [Field]
  package var tags: [ByteString]
}

/// The record of one stored entry, kept as bytes: its head, without the body that may follow it.
/// Its parts are decoded when they are read.
@usableFromInline
package struct PutRecord: Sendable {
  /// The maximum number of fields, of user items, and of tags, each on its own.
  package static let maximumItems = 65_535

  /// The fixed part, decoded at each call.
  package var head: PutHead {
    // Safety: `init` ensured that the fixed part is there.
    unsafe bytes.withUnsafeBytes {
      unsafe PutHead(fixed: UnsafeRawBufferPointer(rebasing: $0[RecordFrame.headerCount...]))
    }
  }

  /// The head of the record, with header and padding.
  package let bytes: [UInt8]

  /// The sequence number; 0 until the record is placed in a journal.
  package var sequence: UInt64 {
    // Safety: the header is there.
    unsafe bytes.withUnsafeBytes {
      unsafe UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    }
  }

  /// Encodes a record, ready to be placed.
  ///
  /// The caller has checked that the texts fit into `RecordFrame.maximumLength`.
  package init(head: PutHead, key: ByteString, metadata: EntryMetadata) {
    var bytes = RecordFrame.begin(.put, reserving: PutHead.count + key.bytes.count + 512)
    head.write(to: &bytes)
    bytes.append(littleEndian: UInt32(key.bytes.count))
    bytes.append(littleEndian: UInt16(metadata.fields.count))
    bytes.append(littleEndian: UInt16(metadata.userInfo.count))
    bytes.append(littleEndian: UInt16(metadata.tags.count))
    bytes.append(littleEndian: UInt16(0))
    let textsAt = bytes.count
    bytes.append(littleEndian: UInt32(0))
    bytes.append(contentsOf: key.bytes)
    let begin = bytes.count
    for field in metadata.fields { Self.append(field, to: &bytes) }
    for item in metadata.userInfo { Self.append(item, to: &bytes) }
    for tag in metadata.tags {
      bytes.append(littleEndian: UInt32(tag.bytes.count))
      bytes.append(contentsOf: tag.bytes)
    }
    bytes.set(UInt32(bytes.count - begin), at: textsAt)
    RecordFrame.pad(&bytes)
    self.bytes = bytes
  }

  /// Takes the head of a record that was made here.
  fileprivate init(whole bytes: [UInt8]) { self.bytes = bytes }

  /// Takes the head of a record whose frame was checked; `nil` if the payload is not that of a put
  /// record.
  ///
  /// - Complexity: O(1); the texts are checked when they are read.
  package init?(checked bytes: [UInt8]) {
    guard bytes.count >= Self.keyAt, bytes[24] == RecordType.put.rawValue,
      bytes.count - Int(bytes[25]) >= Self.keyAt
    else { return nil }
    self.bytes = bytes
    guard keyRange != nil else { return nil }
  }

  private static let keyAt = RecordFrame.headerCount + PutHead.count

  /// The place where the payload ends and the padding begins.
  private var end: Int { bytes.count - Int(bytes[25]) }

  private var keyRange: Range<Int>? {
    // Safety: `init` ensured that the fixed part is there.
    let count = unsafe bytes.withUnsafeBytes {
      unsafe Int(
        UInt32(
          littleEndian: $0.loadUnaligned(
            fromByteOffset: RecordFrame.headerCount + 88, as: UInt32.self)))
    }
    return count <= end - Self.keyAt ? Self.keyAt..<(Self.keyAt + count) : nil
  }

  package var key: ByteString {
    keyRange.map { ByteString(bytes: Array(bytes[$0])) } ?? ByteString(bytes: [])
  }

  package func hasKey(_ other: ByteString) -> Bool {
    guard let range = keyRange, range.count == other.count else { return false }
    return unsafe bytes.withUnsafeBytes { mine in
      unsafe other.bytes.withUnsafeBytes { theirs in
        // Safety: both have `range.count` bytes, and both arrays are held.
        unsafe equalBytes(
          UnsafeRawBufferPointer(rebasing: mine[range]).baseAddress, theirs.baseAddress, range.count
        )
      }
    }
  }

  /// The decoded texts; texts that are cut short are left out.
  package var texts: PutTexts {
    var texts = PutTexts(fields: [], userInfo: [], tags: [])
    guard let range = keyRange else { return texts }
    var counts = RecordCursor(bytes, from: RecordFrame.headerCount + 92, to: end)
    guard let fields = counts.number(UInt16.self), let items = counts.number(UInt16.self),
      let tags = counts.number(UInt16.self)
    else { return texts }
    var cursor = RecordCursor(bytes, from: range.upperBound, to: end)
    for _ in 0..<fields {
      guard let field = Self.field(&cursor) else { return texts }
      texts.fields.append(field)
    }
    for _ in 0..<items {
      guard let item = Self.field(&cursor) else { return texts }
      texts.userInfo.append(item)
    }
    for _ in 0..<tags {
      guard let count = cursor.number(UInt32.self), let tag = cursor.text(Int(count))
      else { return texts }
      texts.tags.append(tag)
    }
    return texts
  }

  /// The metadata of the entry, decoded at each call.
  package var metadata: EntryMetadata {
    let texts = texts
    return EntryMetadata(
      status: head.status, fields: texts.fields, userInfo: texts.userInfo, tags: texts.tags,
      expires: head.expires)
  }

  private static func append(_ field: Field, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt32(field.name.bytes.count))
    bytes.append(littleEndian: UInt32(field.value.bytes.count))
    bytes.append(contentsOf: field.name.bytes)
    bytes.append(contentsOf: field.value.bytes)
  }

  private static func field(_ cursor: inout RecordCursor) -> Field? {
    guard let names = cursor.number(UInt32.self), let values = cursor.number(UInt32.self),
      let name = cursor.text(Int(names)), let value = cursor.text(Int(values))
    else { return nil }
    return Field(name, value)
  }
}

extension PutRecord {
  /// Returns the bytes of a record without body for the same entry, ready to be placed.
  ///
  /// - Parameters:
  ///   - nanoseconds: the access time, since 1970.
  ///   - bodyFile: the number of the body's file; `nil` for the one in this record.
  ///   - overhead: the bytes of metadata file and directory; `nil` for those in this record.
  package func accessed(
    _ nanoseconds: Int64, bodyFile: UInt64? = nil, overhead: UInt32? = nil
  ) -> [UInt8] {
    var copy = bytes
    let at = RecordFrame.headerCount
    copy.set(UInt64(bitPattern: nanoseconds), at: at + 56)
    if let bodyFile { copy.set(bodyFile, at: at + 72) }
    if let overhead { copy.set(overhead, at: at + 80) }
    let isLonger = head.carriesBody
    // Without the body it is neither embedded nor settled.
    copy[at + 86] &= ~26
    guard isLonger else { return copy }
    copy.set(UInt32(copy.count), at: 12)
    copy.set(UInt32(0), at: 28)
    return copy
  }

  /// The parts of a head that are known only when the record is appended.
  package struct Moment: Sendable, Hashable {
    package var created: Timestamp
    package var accessed: Timestamp
    package var isPinned: Bool

    package init(created: Timestamp, accessed: Timestamp, isPinned: Bool) {
      self.created = created
      self.accessed = accessed
      self.isPinned = isPinned
    }
  }

  /// Returns the record of the entry at a moment, whose body follows the head.
  package func at(_ moment: Moment) -> PutRecord {
    var copy = bytes
    complete(&copy, at: moment)
    return PutRecord(whole: copy)
  }

  /// Returns the bytes of the same record with its body after the head, ready to be placed.
  ///
  /// - Parameters:
  ///   - body: the bytes whose length and digest the head has.
  ///   - moment: the parts of the head that were not known before.
  ///   - overhead: the bytes of metadata file and directory, if the files are there; `nil` if not.
  package func carrying(
    _ body: [UInt8], at moment: Moment, settledWith overhead: UInt32? = nil
  ) -> [UInt8] {
    let count = RecordFrame.padded(body.count)
    var all: [UInt8] = []
    all.reserveCapacity(bytes.count + count)
    all.append(contentsOf: bytes)
    complete(&all, at: moment)
    let at = RecordFrame.headerCount
    all[at + 86] = (all[at + 86] & ~16) | (overhead == nil ? 0 : 16)
    if let overhead { all.set(overhead, at: at + 80) }
    all.append(contentsOf: body)
    all.append(contentsOf: repeatElement(0, count: count - body.count))
    return all
  }

  private func complete(_ head: inout [UInt8], at moment: Moment) {
    let count = RecordFrame.padded(Int(self.head.length))
    let at = RecordFrame.headerCount
    head.set(UInt64(bitPattern: moment.created.nanoseconds), at: at + 48)
    head.set(UInt64(bitPattern: moment.accessed.nanoseconds), at: at + 56)
    head[at + 86] = (head[at + 86] & ~1) | (moment.isPinned ? 3 : 2)
    head.set(UInt32(bytes.count + count), at: 12)
    head.set(UInt32(count), at: 28)
  }
}
