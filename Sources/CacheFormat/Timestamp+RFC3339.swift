// The written form of a time: RFC 3339 in UTC with nanoseconds, always 30 bytes.

extension Timestamp: CustomStringConvertible {
  /// The number of bytes of the written form.
  static let textLength = 30

  /// The time in the form `2026-11-20T20:01:48.123456789Z`.
  public var description: String {
    var writer = JSONWriter(capacity: Self.textLength)
    writer.appendTime(self)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// Reads the written form: exactly 30 bytes, as `description` writes them (RFC 3339, section
  /// 5.6), so that every time has exactly one spelling.
  ///
  /// `nil` for anything else, for second 60, and for times outside the range of a timestamp.
  ///
  /// - Complexity: O(1), without allocation.
  package init?(rfc3339 text: [UInt8]) {
    guard text.count == Self.textLength, Self.hasSeparators(text),
      let year = Self.number(text, at: 0, digits: 4), year >= 1,
      let month = Self.number(text, at: 5, digits: 2), (1...12).contains(month),
      let day = Self.number(text, at: 8, digits: 2),
      let hour = Self.number(text, at: 11, digits: 2), hour < 24,
      let minute = Self.number(text, at: 14, digits: 2), minute < 60,
      let second = Self.number(text, at: 17, digits: 2), second < 60,
      let fraction = Self.number(text, at: 20, digits: 9)
    else { return nil }
    var time = CivilTime(year: Int64(year))
    (time.month, time.day) = (month, day)
    (time.hour, time.minute, time.second) = (hour, minute, second)
    guard time.hasValidDay,
      let nanoseconds = Int64(exactly: Int128(time.seconds) * 1_000_000_000 + Int128(fraction))
    else { return nil }
    self.init(nanoseconds: nanoseconds)
  }

  private static func hasSeparators(_ text: [UInt8]) -> Bool {
    text[4] == UInt8(ascii: "-") && text[7] == UInt8(ascii: "-") && text[10] == UInt8(ascii: "T")
      && text[13] == UInt8(ascii: ":") && text[16] == UInt8(ascii: ":")
      && text[19] == UInt8(ascii: ".") && text[29] == UInt8(ascii: "Z")
  }

  private static func number(_ text: [UInt8], at start: Int, digits: Int) -> Int? {
    var value = 0
    for index in start..<start + digits {
      let digit = Int(text[index]) - 48
      guard digit >= 0, digit <= 9 else { return nil }
      value = value * 10 + digit
    }
    return value
  }
}
