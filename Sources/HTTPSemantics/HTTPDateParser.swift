internal import CacheFormat

/// A parser for the three date formats of RFC 9110, section 5.6.7.
///
///     Sun, 06 Nov 1994 08:49:37 GMT       IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT      RFC 850
///     Sun Nov  6 08:49:37 1994            asctime
struct HTTPDateParser: ByteReading {
  private static let longest = "Wednesday, 06-Nov-94 08:49:37 GMT".utf8.count

  let bytes: [UInt8]
  var position = 0
  private let now: HTTPDate
  private var time = CivilTime(year: 0)

  init(_ bytes: [UInt8], now: HTTPDate) {
    self.bytes = bytes
    self.now = now
  }

  /// Returns the seconds since 1970, or `nil` if the value is not a date.
  mutating func parse() -> Int64? {
    guard bytes.count <= Self.longest else { return nil }
    skip(while: ASCII.isLetter)
    guard position < bytes.count, let name = PackedName(bytes[..<position]) else { return nil }
    let isValid: Bool
    if position != 3 {
      isValid = HTTPDateNames.packedLongDays.contains(name) && parseRFC850()
    } else if !HTTPDateNames.packedDays.contains(name) {
      isValid = false
    } else if bytes[position] == UInt8(ascii: ",") {
      isValid = parseFixdate()
    } else {
      isValid = parseAsctime()
    }
    guard isValid, position == bytes.count, time.hasValidDay else { return nil }
    return time.seconds
  }

  private mutating func parseFixdate() -> Bool {
    guard take(","), take(" "), let day = number(2), take(" "), month(), take(" "),
      let year = number(4), take(" "), clock(), zone()
    else { return false }
    time.day = day
    time.year = Int64(year)
    return true
  }

  private mutating func parseRFC850() -> Bool {
    guard take(","), take(" "), let day = number(2), take("-"), month(), take("-"),
      let year = number(2), take(" "), clock(), zone()
    else { return false }
    time.day = day
    return setYear(ofTwoDigits: Int64(year))
  }

  private mutating func parseAsctime() -> Bool {
    guard take(" "), month(), take(" ") else { return false }
    let width = take(" ") ? 1 : 2
    guard let day = number(width), take(" "), clock(), take(" "), let year = number(4) else {
      return false
    }
    time.day = day
    time.year = Int64(year)
    return true
  }

  /// Sets the latest year with these two digits for which the date is at most 50 years ahead.
  private mutating func setYear(ofTwoDigits digits: Int64) -> Bool {
    var limit = CivilTime(seconds: max(CivilTime.earliest, min(now.seconds, CivilTime.latest)))
    limit.year += 50
    time.year = limit.year - limit.year % 100 + digits
    if time.seconds > limit.seconds { time.year -= 100 }
    return time.year >= 0 && time.year <= 9_999
  }

  private mutating func month() -> Bool {
    guard let name = letters(), let index = HTTPDateNames.packedMonths.firstIndex(of: name) else {
      return false
    }
    time.month = index + 1
    return true
  }

  private mutating func zone() -> Bool {
    take(" ") && letters() == HTTPDateNames.packedZone
  }

  private mutating func clock() -> Bool {
    guard let hour = number(2), take(":"), let minute = number(2), take(":"),
      let second = number(2), hour < 24, minute < 60, second <= 60
    else { return false }
    time.hour = hour
    time.minute = minute
    // A leap second has no number of its own; the previous second is the nearest one that is not
    // later.
    time.second = min(second, 59)
    return true
  }

  private mutating func letters() -> PackedName? {
    guard bytes.count - position >= 3 else { return nil }
    position += 3
    return PackedName(bytes[(position - 3)..<position])
  }

  private mutating func number(_ width: Int) -> Int? {
    var value = 0
    for _ in 0..<width {
      guard let byte = next(), ASCII.isDigit(byte) else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return value
  }
}
