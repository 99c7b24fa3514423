/// The type of a record of the journal (Docs/Format.md, "The journal").
package struct RecordType: RawRepresentable, Sendable, Hashable {
  package var rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// An entry was stored, or its metadata changed.
  package static let put = RecordType(rawValue: 1)
  package static let remove = RecordType(rawValue: 2)
  /// Entries were accessed.
  package static let touch = RecordType(rawValue: 3)
  /// All entries before it were removed.
  package static let clear = RecordType(rawValue: 4)
  package static let limits = RecordType(rawValue: 5)
  /// The journal continues in another segment.
  package static let seal = RecordType(rawValue: 6)
  /// The oldest segments are no longer needed.
  package static let drop = RecordType(rawValue: 7)
  /// The files of an entry were written, whose put record carries its body.
  package static let settled = RecordType(rawValue: 8)
}

/// The frame of one record: 32 bytes of header, the payload, and padding to a multiple of 8 bytes.
/// These are its head. A body may follow, padded in the same way.
///
///     0  checksum  u64  XXH3-64 of the rest of the head, seeded with store, segment and offset
///     8  magic     u32
///     12 length    u32  of the whole record
///     16 sequence  u64
///     24 type      u8
///     25 padding   u8   bytes after the payload, 0 to 7
///     26 reserved  2 bytes of 0
///     28 body      u32  bytes after the head; 0 in format 1
///     32 payload
///
/// The checksum does not cover the body, which has a digest in the payload. So nobody hashes a body
/// twice, and damage in a body costs its entry, and not the record.
///
/// The seed of the checksum contains the hash seed of the store, which is secret: a web server
/// cannot choose bytes that pass for a record. It also contains the place of the record: a record
/// that was written to the wrong place is invalid.
package enum RecordFrame {
  /// The number of bytes before the payload.
  package static let headerCount = 32
  /// The longest record in bytes; a greater length is damage.
  package static let maximumLength = 4 << 20
  package static let alignment = 8
  /// "OCJ1", read as a little-endian number.
  package static let magic: UInt32 = 0x314A_434F

  /// Returns the seed of the checksum of a record at `offset` of a segment.
  package static func seed(hashSeed: UInt64, segment: UInt64, offset: UInt64) -> UInt64 {
    hashSeed ^ (segment &* 0x9E37_79B9_7F4A_7C15) ^ (offset &* 0xC2B2_AE3D_27D4_EB4F)
  }

  /// Begins a record with a header; `pad` and `place` set its remaining fields.
  package static func begin(_ type: RecordType, reserving count: Int) -> [UInt8] {
    var bytes = [UInt8]()
    bytes.reserveCapacity(headerCount + count + alignment)
    bytes.append(contentsOf: repeatElement(0, count: headerCount))
    bytes.set(magic, at: 8)
    bytes[24] = type.rawValue
    return bytes
  }

  /// Pads a record and sets its length; `place` sets the rest.
  package static func pad(_ record: inout [UInt8]) {
    let padding = (alignment - record.count % alignment) % alignment
    record.append(contentsOf: repeatElement(0, count: padding))
    record[25] = UInt8(padding)
    record.set(UInt32(record.count), at: 12)
  }

  /// Sets the sequence number of a padded record, then its checksum.
  package static func place(_ record: inout [UInt8], sequence: UInt64, seed: UInt64) {
    record.set(sequence, at: 16)
    // Safety: the slice lies within the array.
    let sum = unsafe record.withUnsafeBytes {
      let body = unsafe Int(
        UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 28, as: UInt32.self)))
      precondition(body <= $0.count - headerCount, "the body lies within the record")
      return unsafe Checksum.of(
        UnsafeRawBufferPointer(rebasing: $0[8..<($0.count - body)]), seed: seed)
    }
    record.set(sum, at: 0)
  }

  package struct Header: Sendable, Hashable {
    /// The bytes of the record, with the body.
    package var length: Int
    package var sequence: UInt64
    package var type: RecordType
    var payloadCount: Int
    /// The bytes of the body, with padding; 0 if there is none.
    package var bodyCount = 0

    /// The bytes of the head: header, payload and padding.
    package var headCount: Int { length - bodyCount }

    /// Returns the payload of a checked record, as a part of its bytes.
    @inline(__always)
    package func payload(of record: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
      // Safety: `read` has checked that the payload lies within the record.
      unsafe UnsafeRawBufferPointer(rebasing: record[headerCount...].prefix(payloadCount))
    }
  }

  /// Returns the bytes that a body of a length takes in a record.
  @inline(__always)
  package static func padded(_ length: Int) -> Int {
    (length + alignment - 1) / alignment * alignment
  }

  /// The result of reading at a place of a segment.
  package enum Reading: Sendable, Hashable {
    /// A whole record.
    case record(Header)
    /// There are too few bytes to decide whether this is a record.
    case incomplete
    /// Not a record.
    case damaged
  }

  /// Reads the record that begins at `offset` of `bytes`.
  ///
  /// - Parameters:
  ///   - seed: see `seed(hashSeed:segment:offset:)`.
  ///   - isHeadEnough: whether the body need not be there.
  /// - Complexity: O(length of the head). The bytes of the body are not looked at.
  package static func read(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, seed: UInt64, isHeadEnough: Bool = false
  ) -> Reading {
    let available = bytes.count - offset
    guard available >= headerCount else { return .incomplete }
    // Safety: all loads lie within the header, which is there.
    func number(_ place: Int) -> UInt32 {
      unsafe UInt32(
        littleEndian: bytes.loadUnaligned(fromByteOffset: offset + place, as: UInt32.self))
    }
    let (length, body) = (Int(number(12)), Int(number(28)))
    guard number(8) == magic, length >= headerCount, length % alignment == 0,
      length <= maximumLength, body % alignment == 0, length - body >= headerCount
    else { return .damaged }
    let head = length - body
    guard available >= (isHeadEnough ? head : length) else { return .incomplete }
    // Safety: `head` bytes are there.
    let sum = unsafe Checksum.of(
      UnsafeRawBufferPointer(rebasing: bytes[(offset + 8)..<(offset + head)]), seed: seed)
    let stated = unsafe UInt64(
      littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    guard sum == stated else { return .damaged }
    let padding = unsafe Int(bytes[offset + 25])
    guard padding < alignment, head - headerCount >= padding else { return .damaged }
    let sequence = unsafe UInt64(
      littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self))
    return .record(
      Header(
        length: length, sequence: sequence,
        type: RecordType(rawValue: unsafe bytes[offset + 24]),
        payloadCount: head - headerCount - padding, bodyCount: body))
  }
}
