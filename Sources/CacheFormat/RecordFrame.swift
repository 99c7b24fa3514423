/// The type of a record of the journal (Docs/Format.md, "The journal").
package struct RecordType: RawRepresentable, Sendable, Hashable {
  package var rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// An entry was stored, or its metadata changed.
  package static let put = RecordType(rawValue: 1)
  /// An entry was removed.
  package static let remove = RecordType(rawValue: 2)
  /// Entries were accessed.
  package static let touch = RecordType(rawValue: 3)
  /// All entries before it were removed.
  package static let clear = RecordType(rawValue: 4)
  /// The limits of the store.
  package static let limits = RecordType(rawValue: 5)
  /// The journal continues in another segment.
  package static let seal = RecordType(rawValue: 6)
  /// The oldest segments are no longer needed.
  package static let drop = RecordType(rawValue: 7)
}

/// The frame of one record: 32 bytes of header, the payload, and padding to a multiple of 8 bytes.
///
///     0  checksum  u64  XXH3-64 of the bytes 8..<length, seeded with store, segment and offset
///     8  magic     u32
///     12 length    u32  of the whole record
///     16 sequence  u64
///     24 type      u8
///     25 padding   u8   bytes after the payload, 0 to 7
///     26 reserved  6 bytes of 0
///     32 payload
///
/// The seed of the checksum contains the hash seed of the store, which is secret: a web server
/// cannot choose bytes that pass for a record. It also contains the place of the record: a record
/// that was written to the wrong place is invalid.
package enum RecordFrame {
  /// The number of bytes before the payload.
  package static let headerCount = 32
  /// The longest record in bytes; a greater length is damage.
  package static let maximumLength = 4 << 20
  /// The alignment of records in bytes.
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
      unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: $0[8...]), seed: seed)
    }
    record.set(sum, at: 0)
  }

  /// The contents of the header of a record.
  package struct Header: Sendable, Hashable {
    package var length: Int
    package var sequence: UInt64
    package var type: RecordType
    package var payloadCount: Int
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
  /// - Parameter seed: see `seed(hashSeed:segment:offset:)`.
  /// - Complexity: O(length of the record).
  package static func read(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, seed: UInt64
  ) -> Reading {
    let available = bytes.count - offset
    guard available >= headerCount else { return .incomplete }
    // Safety: all loads lie within the header, which is there.
    let (mark, length) = unsafe (
      UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)),
      Int(
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self)))
    )
    guard mark == magic, length >= headerCount, length % alignment == 0, length <= maximumLength
    else { return .damaged }
    guard available >= length else { return .incomplete }
    // Safety: `length` bytes are there.
    let sum = unsafe Checksum.of(
      UnsafeRawBufferPointer(rebasing: bytes[(offset + 8)..<(offset + length)]), seed: seed)
    let stated = unsafe UInt64(
      littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    guard sum == stated else { return .damaged }
    let padding = unsafe Int(bytes[offset + 25])
    guard padding < alignment, length - headerCount >= padding else { return .damaged }
    let sequence = unsafe UInt64(
      littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self))
    return .record(
      Header(
        length: length, sequence: sequence,
        type: RecordType(rawValue: unsafe bytes[offset + 24]),
        payloadCount: length - headerCount - padding))
  }
}
