// The written form of a time: RFC 3339 in UTC with nanoseconds, always 30 bytes.

extension Timestamp: CustomStringConvertible {
  /// The number of bytes of the written form.
  package static let textLength = 30

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
      let day = Self.number(text, at: 8, digits: 2), day >= 1,
      day <= Self.daysInMonth(month, of: year),
      let hour = Self.number(text, at: 11, digits: 2), hour < 24,
      let minute = Self.number(text, at: 14, digits: 2), minute < 60,
      let second = Self.number(text, at: 17, digits: 2), second < 60,
      let fraction = Self.number(text, at: 20, digits: 9)
    else { return nil }
    let date = CalendarDate(year: year, month: month, day: day)
    let seconds = ((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second
    guard let nanoseconds = Int64(exactly: Int128(seconds) * 1_000_000_000 + Int128(fraction))
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

  private static func daysInMonth(_ month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

/// A day of the Gregorian calendar, converted to and from days since 1970-01-01.
///
/// The calculation uses years that start in March, so that a leap day is the last day of the year.
/// Then every month starts at a fixed day of the year, and 400 years (an era) have 146,097 days.
struct CalendarDate: Equatable {
  var year: Int
  var month: Int
  var day: Int

  /// The days from 0000-03-01, where the eras begin, to 1970-01-01.
  private static let daysBefore1970 = 719_468

  init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// Creates the date of a day on or after 0000-03-01.
  init(daysSince1970 days: Int) {
    let (era, dayOfEra) = (days + Self.daysBefore1970).quotientAndRemainder(dividingBy: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  }

  /// The days since 1970-01-01. The year must be 1 or later.
  var daysSince1970: Int {
    let yearFromMarch = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = yearFromMarch.quotientAndRemainder(dividingBy: 400)
    let monthFromMarch = month > 2 ? month - 3 : month + 9
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - Self.daysBefore1970
  }
}
