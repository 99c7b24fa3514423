/// A parser for the three date formats of RFC 9110, section 5.6.7.
///
///     Sun, 06 Nov 1994 08:49:37 GMT       IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT      RFC 850
///     Sun Nov  6 08:49:37 1994            asctime
struct HTTPDateParser {
  private static let longest = "Wednesday, 06-Nov-94 08:49:37 GMT".utf8.count

  private let now: HTTPDate
  private var position = 0
  private var time = CivilTime(year: 0)

  init(now: HTTPDate) {
    self.now = now
  }

  /// Returns the seconds since 1970, or `nil` if the value is not a date.
  mutating func parse(_ bytes: Span<UInt8>) -> Int64? {
    guard bytes.count <= Self.longest else { return nil }
    while position < bytes.count, ASCII.isLetter(bytes[position]) { position += 1 }
    guard position < bytes.count, let name = PackedName(bytes, 0..<position) else { return nil }
    let isValid: Bool
    if position != 3 {
      isValid = HTTPDateNames.packedLongDays.contains(name) && parseRFC850(bytes)
    } else if !HTTPDateNames.packedDays.contains(name) {
      isValid = false
    } else if bytes[position] == UInt8(ascii: ",") {
      isValid = parseFixdate(bytes)
    } else {
      isValid = parseAsctime(bytes)
    }
    guard isValid, position == bytes.count, time.hasValidDay else { return nil }
    return time.seconds
  }

  private mutating func parseFixdate(_ bytes: Span<UInt8>) -> Bool {
    guard take(",", bytes), take(" ", bytes), let day = number(2, bytes), take(" ", bytes),
      month(bytes), take(" ", bytes), let year = number(4, bytes), take(" ", bytes),
      clock(bytes), zone(bytes)
    else { return false }
    time.day = day
    time.year = Int64(year)
    return true
  }

  private mutating func parseRFC850(_ bytes: Span<UInt8>) -> Bool {
    guard take(",", bytes), take(" ", bytes), let day = number(2, bytes), take("-", bytes),
      month(bytes), take("-", bytes), let year = number(2, bytes), take(" ", bytes),
      clock(bytes), zone(bytes)
    else { return false }
    time.day = day
    return setYear(ofTwoDigits: Int64(year))
  }

  private mutating func parseAsctime(_ bytes: Span<UInt8>) -> Bool {
    guard take(" ", bytes), month(bytes), take(" ", bytes) else { return false }
    let width = take(" ", bytes) ? 1 : 2
    guard let day = number(width, bytes), take(" ", bytes), clock(bytes), take(" ", bytes),
      let year = number(4, bytes)
    else { return false }
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

  private mutating func month(_ bytes: Span<UInt8>) -> Bool {
    guard let name = letters(bytes),
      let index = HTTPDateNames.packedMonths.firstIndex(of: name)
    else { return false }
    time.month = index + 1
    return true
  }

  private mutating func zone(_ bytes: Span<UInt8>) -> Bool {
    take(" ", bytes) && letters(bytes) == HTTPDateNames.packedZone
  }

  private mutating func clock(_ bytes: Span<UInt8>) -> Bool {
    guard let hour = number(2, bytes), take(":", bytes), let minute = number(2, bytes),
      take(":", bytes), let second = number(2, bytes), hour < 24, minute < 60, second <= 60
    else { return false }
    time.hour = hour
    time.minute = minute
    // A leap second has no number of its own; the previous second is the nearest one that is not
    // later.
    time.second = min(second, 59)
    return true
  }

  private mutating func letters(_ bytes: Span<UInt8>) -> PackedName? {
    guard bytes.count - position >= 3 else { return nil }
    position += 3
    return PackedName(bytes, (position - 3)..<position)
  }

  private mutating func number(_ width: Int, _ bytes: Span<UInt8>) -> Int? {
    guard bytes.count - position >= width else { return nil }
    var value = 0
    for index in position..<(position + width) {
      guard ASCII.isDigit(bytes[index]) else { return nil }
      value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
    }
    position += width
    return value
  }

  private mutating func take(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
      return false
    }
    position += 1
    return true
  }
}
