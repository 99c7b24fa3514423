/// Numbers of seconds (RFC 9111, section 1.2.2).
public enum DeltaSeconds {
  /// The maximum: 2^31, about 68 years.
  ///
  /// RFC 9111, section 1.2.2 specifies this value for numbers that are too large.
  public static let maximum: Int64 = 2_147_483_648

  /// Reads a number that fills the whole value; `nil` unless it is one or more digits.
  ///
  /// A number larger than ``maximum`` counts as ``maximum``, however many digits it has.
  public static func parse(_ bytes: Span<UInt8>) -> Int64? {
    parse(bytes, in: 0..<bytes.count)
  }

  /// Reads a number that fills a part of the value; `nil` unless it is one or more digits.
  ///
  /// - Complexity: O(*n*) in the length of the part.
  package static func parse(_ bytes: Span<UInt8>, in range: Range<Int>) -> Int64? {
    guard !range.isEmpty else { return nil }
    var value: Int64 = 0
    for index in range {
      guard ASCII.isDigit(bytes[index]) else { return nil }
      value = min(value * 10 + Int64(bytes[index] - UInt8(ascii: "0")), maximum)
    }
    return value
  }

  /// Clamps a number of seconds to 0...``maximum``.
  static func clamped(_ seconds: Int64) -> Int64 {
    max(0, min(seconds, maximum))
  }
}

extension Int64 {
  /// Adds; on overflow, returns the nearest end of the range.
  func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// Subtracts; on overflow, returns the nearest end of the range.
  func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
