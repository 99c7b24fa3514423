/// The first 64 bytes of a segment of the journal.
///
///     0  "OCJOURNL"
///     8  format version u32, header length u32
///     16 store id high u64, low u64
///     32 hash seed u64
///     40 segment number u32, number of an unsynced segment u32
///     48 created i64, nanoseconds since 1970
///     56 checksum u64: XXH3-64 of the 56 bytes before, seed 0
///
/// It repeats the contents of store.json, so that each of them can be restored from the other.
package struct SegmentHeader: Sendable, Hashable {
  package static let count = 64
  /// The newest version that can be read.
  package static let newestVersion: UInt32 = 2

  /// The version of the format: 2 if records may carry bodies, otherwise 1.
  package var version: UInt32
  package var storeID: StoreDescription.ID
  package var hashSeed: UInt64
  package var number: UInt64
  /// The number of the oldest segment whose sync had failed when this one was begun, or 0. Before that
  /// segment is dropped, nothing in this one is promised. Only in version 2.
  package var unsynced: UInt32
  package var created: Timestamp

  package init(
    version: UInt32 = 1, storeID: StoreDescription.ID, hashSeed: UInt64, number: UInt64,
    unsynced: UInt32 = 0, created: Timestamp
  ) {
    self.version = version
    self.storeID = storeID
    self.hashSeed = hashSeed
    self.number = number
    self.unsynced = version > 1 ? unsynced : 0
    self.created = created
  }

  package enum Reading: Sendable, Hashable {
    case header(SegmentHeader)
    case newerFormat(UInt32)
    case damaged
  }

  package var bytes: [UInt8] {
    var bytes = Array("OCJOURNL".utf8)
    bytes.append(littleEndian: version)
    bytes.append(littleEndian: UInt32(Self.count))
    bytes.append(littleEndian: storeID.high)
    bytes.append(littleEndian: storeID.low)
    bytes.append(littleEndian: hashSeed)
    bytes.append(littleEndian: number | UInt64(unsynced) << 32)
    bytes.append(littleEndian: UInt64(bitPattern: created.nanoseconds))
    bytes.append(littleEndian: Checksum.of(bytes))
    return bytes
  }

  package static func read(_ bytes: [UInt8]) -> Reading {
    guard bytes.count >= count, bytes.starts(with: Array("OCJOURNL".utf8)) else { return .damaged }
    var cursor = RecordCursor(bytes, from: 8, to: count)
    guard let version = cursor.number(UInt32.self), let length = cursor.number(UInt32.self),
      let high = cursor.number(UInt64.self), let low = cursor.number(UInt64.self),
      let seed = cursor.number(UInt64.self), let number = cursor.number(UInt64.self),
      let created = cursor.number(UInt64.self), let sum = cursor.number(UInt64.self)
    else { return .damaged }
    guard Checksum.of(Array(bytes.prefix(56))) == sum else { return .damaged }
    guard version <= newestVersion else { return .newerFormat(version) }
    guard version > 0, length == count else { return .damaged }
    return .header(
      SegmentHeader(
        version: version, storeID: StoreDescription.ID(high: high, low: low), hashSeed: seed,
        number: version > 1 ? number & 0xFFFF_FFFF : number,
        unsynced: UInt32(truncatingIfNeeded: number >> 32),
        created: Timestamp(nanoseconds: Int64(bitPattern: created))))
  }
}
