/// Numbers as hexadecimal digits of a fixed count, used for file names and for numbers in
/// documents.
///
/// The digits are lower case, the most significant one first. Reading refuses upper-case digits, so
/// that every value has exactly one name.
@usableFromInline
package enum Hexadecimal {
  /// Returns the lowest `digits` digits (0 to 16) of `value`.
  package static func string(_ value: UInt64, digits: Int = 16) -> String {
    precondition(digits >= 0 && digits <= 16)
    return unsafe String(unsafeUninitializedCapacity: digits) { buffer in
      var rest = value
      for index in (0..<digits).reversed() {
        // Safety: the buffer has room for at least the requested capacity.
        unsafe buffer[index] = digit(UInt8(truncatingIfNeeded: rest & 15))
        rest &>>= 4
      }
      return digits
    }
  }

  /// Returns the value of 1 to 16 digits; `nil` if there are fewer, more, or any other bytes.
  ///
  /// - Complexity: O(digits), without allocation.
  @inlinable
  package static func parse(_ bytes: some Collection<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    var count = 0
    for byte in bytes {
      guard count < 16, let digit = digitValue(byte) else { return nil }
      value = value &<< 4 | UInt64(digit)
      count &+= 1
    }
    return count > 0 ? value : nil
  }

  /// Returns the ASCII digit of a value below 16.
  @inlinable
  static func digit(_ value: UInt8) -> UInt8 {
    // "0" is 48; "a" is 97, which is 39 more than "0" + 10.
    48 &+ value &+ (value > 9 ? 39 : 0)
  }

  /// Returns the value of an ASCII digit; `nil` for any other byte, including upper-case digits.
  @inlinable
  static func digitValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte &- 48
    case 97...102: byte &- 87
    default: nil
    }
  }
}

extension [UInt8] {
  /// The bytes as lower-case hexadecimal digits.
  package var hexadecimal: String {
    String(
      decoding: flatMap { [Hexadecimal.digit($0 >> 4), Hexadecimal.digit($0 & 15)] },
      as: UTF8.self)
  }

  /// Reads hexadecimal digits of either case, two for each byte; `nil` for anything else.
  package init?(hexadecimal text: some StringProtocol) {
    // `| 0x20` makes letters lower case; digits are not changed.
    let digits = text.utf8.compactMap { Hexadecimal.digitValue($0 < 0x40 ? $0 : $0 | 0x20) }
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
