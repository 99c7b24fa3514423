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
    RecordFrame.record(
      .remove, [keyHash.high, keyHash.low, variant, UInt64(reason.rawValue)])
  }

  /// Reads the payload of a checked record.
  package init?(payload: [UInt8]) {
    let numbers = RecordFrame.numbers(payload)
    guard numbers.count >= 4 else { return nil }
    self.init(
      keyHash: KeyHash(high: numbers[0], low: numbers[1]), variant: numbers[2],
      reason: RemovalReason(rawValue: UInt8(truncatingIfNeeded: numbers[3])) ?? .asked)
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
    RecordFrame.record(
      .settled,
      [
        keyHash.high, keyHash.low, variant, UInt64(segment) | UInt64(offset) << 32, bodyFile,
        UInt64(overhead),
      ])
  }

  /// Reads the payload of a checked record.
  package init?(payload: [UInt8]) {
    let numbers = RecordFrame.numbers(payload)
    guard numbers.count >= 6 else { return nil }
    self.init(
      keyHash: KeyHash(high: numbers[0], low: numbers[1]), variant: numbers[2],
      segment: UInt32(truncatingIfNeeded: numbers[3]), offset: UInt32(numbers[3] >> 32),
      bodyFile: numbers[4], overhead: UInt32(truncatingIfNeeded: numbers[5]))
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
    RecordFrame.record(
      .touch,
      touches.flatMap {
        [
          $0.keyHash.high, $0.keyHash.low, $0.variant,
          UInt64(bitPattern: $0.accessed.nanoseconds),
        ]
      })
  }

  /// Reads the payload of a checked record; ignores an incomplete access at the end.
  package static func touches(payload: [UInt8]) -> [Touch] {
    let numbers = RecordFrame.numbers(payload)
    return stride(from: 0, through: numbers.count - 4, by: 4).map { place in
      Touch(
        keyHash: KeyHash(high: numbers[place], low: numbers[place + 1]),
        variant: numbers[place + 2],
        accessed: Timestamp(nanoseconds: Int64(bitPattern: numbers[place + 3])))
    }
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
    RecordFrame.record(.limits, values)
  }

  /// Reads the payload of a checked record.
  package init?(payload: [UInt8]) {
    values = Array(RecordFrame.numbers(payload).prefix(Self.count))
    guard values.count == Self.count else { return nil }
  }
}

/// A record without payload: all entries before it were removed.
package enum ClearRecord {
  /// Encodes the record, ready to be placed.
  package static var bytes: [UInt8] { RecordFrame.record(.clear, []) }
}

/// The last record of a segment; it contains the number of the next segment.
package enum SealRecord {
  /// Encodes the record, ready to be placed.
  package static func bytes(next: UInt64) -> [UInt8] { RecordFrame.record(.seal, [next]) }

  /// Reads the payload of a checked record.
  package static func next(payload: [UInt8]) -> UInt64? { RecordFrame.numbers(payload).first }
}

/// A record that says that all segments up to a number were dropped, because no record in them is
/// needed any more.
package enum DropRecord {
  /// Encodes the record, ready to be placed.
  package static func bytes(through number: UInt64) -> [UInt8] {
    RecordFrame.record(.drop, [number])
  }

  /// Reads the payload of a checked record.
  package static func through(payload: [UInt8]) -> UInt64? { RecordFrame.numbers(payload).first }
}

/// The payloads of these records are numbers of 64 bits; two of 32 bits make one, the first in its
/// lower half.
extension RecordFrame {
  fileprivate static func record(_ type: RecordType, _ numbers: [UInt64]) -> [UInt8] {
    var bytes = begin(type, reserving: 8 * numbers.count)
    for number in numbers { bytes.append(littleEndian: number) }
    pad(&bytes)
    return bytes
  }

  /// Returns the numbers of a payload; bytes after the last whole one are ignored.
  fileprivate static func numbers(_ payload: [UInt8]) -> [UInt64] {
    var cursor = RecordCursor(payload, from: 0, to: payload.count)
    return (0..<payload.count / 8).map { _ in cursor.number() ?? 0 }
  }
}
