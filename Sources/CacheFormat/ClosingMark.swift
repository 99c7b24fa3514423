/// The end of the journal at the time when a process closed the store: the first 32 bytes of the
/// file `lock`.
///
///     0  "OCCLOSED"
///     8  sequence number of the last record u64
///     16 validity u64: 0 if the mark is valid for ever, because the journal was synced first;
///        otherwise the XXH3-64 of the name of this boot: the mark is valid until the next boot
///     24 checksum u64: XXH3-64 of the 24 bytes before, seeded with the hash seed
///
/// If the journal ends before this record, it has been cut, even if the cut lies between two
/// records.
package struct ClosingMark: Sendable, Hashable {
  package static let count = 32
  /// The first bytes.
  package static let magic = Array("OCCLOSED".utf8)

  /// The sequence number of the last record.
  package var sequence: UInt64
  /// The hash of the name of the boot that the mark is valid in; `nil` if it is valid in all.
  package var boot: UInt64?

  package init(sequence: UInt64, boot: UInt64?) {
    self.sequence = sequence
    self.boot = boot
  }

  /// Reads a mark; `nil` if there is none or if it is damaged.
  package init?(decoding bytes: [UInt8], hashSeed: UInt64) {
    guard bytes.count == Self.count, bytes.starts(with: Self.magic) else { return nil }
    var cursor = RecordCursor(bytes, from: 8, to: Self.count)
    guard let sequence = cursor.number(UInt64.self), let boot = cursor.number(UInt64.self),
      let sum = cursor.number(UInt64.self),
      sum == Checksum.of(Array(bytes[..<24]), seed: hashSeed)
    else { return nil }
    self.init(sequence: sequence, boot: boot == 0 ? nil : boot)
  }

  package func encoded(hashSeed: UInt64) -> [UInt8] {
    var bytes = Self.magic
    bytes.append(littleEndian: sequence)
    bytes.append(littleEndian: boot ?? 0)
    bytes.append(littleEndian: Checksum.of(bytes, seed: hashSeed))
    return bytes
  }
}
