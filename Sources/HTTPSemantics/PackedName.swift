/// A lower-case name of at most 24 bytes in three machine words.
///
/// Names of fields and cache directives are compared thousands of times a second without regard to
/// case. Comparing three words takes a nanosecond and needs no string.
struct PackedName: Equatable {
  /// The longest name that fits; `stale-while-revalidate` has 22.
  static let maximumLength = 24

  private var words: (UInt64, UInt64, UInt64) = (0, 0, 0)

  let count: Int

  /// Packs a part of a line; `nil` if it is longer than ``maximumLength``.
  init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    guard range.count <= Self.maximumLength else { return nil }
    count = range.count
    for index in range {
      append(bytes[index])
    }
  }

  /// Packs bytes; `nil` if there are more than ``maximumLength``.
  init?(_ bytes: some Collection<UInt8>) {
    count = bytes.count
    guard count <= Self.maximumLength else { return nil }
    for byte in bytes { append(byte) }
  }

  /// Shifts all bytes up by one and adds a new lowest byte.
  private mutating func append(_ byte: UInt8) {
    words.2 = words.2 << 8 | words.1 >> 56
    words.1 = words.1 << 8 | words.0 >> 56
    words.0 = words.0 << 8 | UInt64(ASCII.lowercased(byte))
  }

  static func == (left: PackedName, right: PackedName) -> Bool {
    left.count == right.count && left.words == right.words
  }
}
