/// The reason for the removal of an entry, as recorded in the journal.
public enum RemovalReason: UInt8, Sendable, Hashable, CaseIterable {
  /// The caller removed it.
  case asked = 0
  /// The byte limit was exceeded.
  case bytes = 1
  /// The limit on the number of entries was exceeded.
  case count = 2
  /// The age limit of the caller was exceeded.
  case age = 3
  /// Too little space was free on the volume.
  case freeSpace = 4
  /// The entry was damaged.
  case damaged = 5
}

/// A removal: key hash (high, low), variant, reason, 7 bytes of 0.
package struct RemoveRecord: Sendable, Hashable {
  package var keyHash: KeyHash
  package var variant: UInt64
  package var reason: RemovalReason

  package init(keyHash: KeyHash, variant: UInt64, reason: RemovalReason) {
    self.keyHash = keyHash
    self.variant = variant
    self.reason = reason
  }

  /// Encodes the record, ready to be placed.
  package var bytes: [UInt8] {
    var bytes = RecordFrame.begin(.remove, reserving: 32)
    bytes.append(littleEndian: keyHash.high)
    bytes.append(littleEndian: keyHash.low)
    bytes.append(littleEndian: variant)
    bytes.append(littleEndian: UInt64(reason.rawValue))
    RecordFrame.pad(&bytes)
    return bytes
  }

  /// Reads the payload of a checked record.
  package init?(payload: [UInt8]) {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    guard let high = cursor.number(UInt64.self), let low = cursor.number(UInt64.self),
      let variant = cursor.number(UInt64.self), let reason = cursor.number(UInt64.self)
    else { return nil }
    self.init(
      keyHash: KeyHash(high: high, low: low), variant: variant,
      reason: RemovalReason(rawValue: UInt8(truncatingIfNeeded: reason)) ?? .asked)
  }
}

/// The news that the files of an entry were written, whose put record carries its body: key hash
/// (high, low), variant, segment u32 and offset u32 of the put record, body file u64, overhead u32,
/// 4 bytes of 0.
package struct SettledRecord: Sendable, Hashable {
  package var keyHash: KeyHash
  package var variant: UInt64
  /// The place of the put record.
  package var segment: UInt32
  package var offset: UInt32
  /// The number of the body's file.
  package var bodyFile: UInt64
  /// The bytes allocated for the metadata file and the directory.
  package var overhead: UInt32

  package init(
    keyHash: KeyHash, variant: UInt64, segment: UInt32, offset: UInt32, bodyFile: UInt64,
    overhead: UInt32
  ) {
    self.keyHash = keyHash
    self.variant = variant
    self.segment = segment
    self.offset = offset
    self.bodyFile = bodyFile
    self.overhead = overhead
  }

  /// Encodes the record, ready to be placed.
  package var bytes: [UInt8] {
    var bytes = RecordFrame.begin(.settled, reserving: 48)
    bytes.append(littleEndian: keyHash.high)
    bytes.append(littleEndian: keyHash.low)
    bytes.append(littleEndian: variant)
    bytes.append(littleEndian: segment)
    bytes.append(littleEndian: offset)
    bytes.append(littleEndian: bodyFile)
    bytes.append(littleEndian: overhead)
    bytes.append(littleEndian: UInt32(0))
    RecordFrame.pad(&bytes)
    return bytes
  }

  /// Reads the payload of a checked record.
  package init?(payload: [UInt8]) {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    guard let high = cursor.number(UInt64.self), let low = cursor.number(UInt64.self),
      let variant = cursor.number(UInt64.self), let segment = cursor.number(UInt32.self),
      let offset = cursor.number(UInt32.self), let bodyFile = cursor.number(UInt64.self),
      let overhead = cursor.number(UInt32.self)
    else { return nil }
    self.init(
      keyHash: KeyHash(high: high, low: low), variant: variant, segment: segment, offset: offset,
      bodyFile: bodyFile, overhead: overhead)
  }
}

/// One access: key hash (high, low), variant, time.
package struct Touch: Sendable, Hashable {
  package var keyHash: KeyHash
  package var variant: UInt64
  package var accessed: Timestamp

  package init(keyHash: KeyHash, variant: UInt64, accessed: Timestamp) {
    self.keyHash = keyHash
    self.variant = variant
    self.accessed = accessed
  }
}

/// Accesses in one record, 32 bytes each.
package enum TouchRecord {
  /// The most accesses in one record.
  package static let maximumCount = 2048

  /// Encodes a record, ready to be placed.
  package static func bytes(_ touches: some Collection<Touch>) -> [UInt8] {
    var bytes = RecordFrame.begin(.touch, reserving: 32 * touches.count)
    for touch in touches {
      bytes.append(littleEndian: touch.keyHash.high)
      bytes.append(littleEndian: touch.keyHash.low)
      bytes.append(littleEndian: touch.variant)
      bytes.append(littleEndian: UInt64(bitPattern: touch.accessed.nanoseconds))
    }
    RecordFrame.pad(&bytes)
    return bytes
  }

  /// Reads the payload of a checked record; ignores an incomplete access at the end.
  package static func touches(payload: [UInt8]) -> [Touch] {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    var touches: [Touch] = []
    touches.reserveCapacity(payload.count / 32)
    while let high = cursor.number(UInt64.self), let low = cursor.number(UInt64.self),
      let variant = cursor.number(UInt64.self), let time = cursor.number(UInt64.self)
    {
      touches.append(
        Touch(
          keyHash: KeyHash(high: high, low: low), variant: variant,
          accessed: Timestamp(nanoseconds: Int64(bitPattern: time))))
    }
    return touches
  }
}

/// The limits of a store as numbers, in the order of Docs/Format.md; the largest number means no
/// limit.
package struct LimitsRecord: Sendable, Hashable {
  /// The limits: bytes, entries, bytes of one entry, free bytes to leave, pinned bytes, accounting
  /// (0: bytes allocated, 1: body lengths).
  package var values: [UInt64]

  /// The number of values in this version; a newer version may append more.
  package static let count = 6

  /// Creates a record of exactly `count` values.
  package init(values: [UInt64]) {
    precondition(values.count == Self.count)
    self.values = values
  }

  /// Encodes the record, ready to be placed.
  package var bytes: [UInt8] {
    var bytes = RecordFrame.begin(.limits, reserving: 8 * values.count)
    for value in values { bytes.append(littleEndian: value) }
    RecordFrame.pad(&bytes)
    return bytes
  }

  /// Reads the payload of a checked record.
  package init?(payload: [UInt8]) {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    var values: [UInt64] = []
    while values.count < Self.count, let value = cursor.number(UInt64.self) {
      values.append(value)
    }
    guard values.count == Self.count else { return nil }
    self.values = values
  }
}

/// A record without payload: all entries before it were removed.
package enum ClearRecord {
  /// Encodes the record, ready to be placed.
  package static var bytes: [UInt8] {
    var bytes = RecordFrame.begin(.clear, reserving: 0)
    RecordFrame.pad(&bytes)
    return bytes
  }
}

/// The last record of a segment; it contains the number of the next segment.
package enum SealRecord {
  /// Encodes the record, ready to be placed.
  package static func bytes(next: UInt64) -> [UInt8] {
    var bytes = RecordFrame.begin(.seal, reserving: 8)
    bytes.append(littleEndian: next)
    RecordFrame.pad(&bytes)
    return bytes
  }

  /// Reads the payload of a checked record.
  package static func next(payload: [UInt8]) -> UInt64? {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    return cursor.number(UInt64.self)
  }
}

/// A record that says that all segments up to a number were dropped, because no record in them is
/// needed any more.
package enum DropRecord {
  /// Encodes the record, ready to be placed.
  package static func bytes(through number: UInt64) -> [UInt8] {
    var bytes = RecordFrame.begin(.drop, reserving: 8)
    bytes.append(littleEndian: number)
    RecordFrame.pad(&bytes)
    return bytes
  }

  /// Reads the payload of a checked record.
  package static func through(payload: [UInt8]) -> UInt64? {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    return cursor.number(UInt64.self)
  }
}
