internal import CacheFormat

/// A time as in HTTP: whole seconds, UTC (RFC 9110, section 5.6.7).
public struct HTTPDate: Sendable, Hashable, Comparable {
  /// The seconds since 1970-01-01 00:00:00 UTC, without leap seconds; any number is allowed.
  public var seconds: Int64

  /// Creates a time from the seconds since 1970-01-01 00:00:00 UTC.
  public init(seconds: Int64) {
    self.seconds = seconds
  }

  /// Reads a date in one of the three formats of RFC 9110, section 5.6.7; `nil` for anything else.
  ///
  /// The parser is strict, because a cache must treat an invalid `Expires` as past (RFC 9111,
  /// section 5.3): single spaces, two-digit times, only the zone `GMT`. The names of days and
  /// months may have any case (RFC 9111, section 4.2), and the day of the week need not match the
  /// date.
  ///
  /// - Parameters:
  ///   - bytes: The value without surrounding white space.
  ///   - now: The time for interpreting a two-digit year: the date is at most 50 years after it.
  /// - Complexity: O(1).
  public init?(_ bytes: [UInt8], now: HTTPDate) {
    var parser = HTTPDateParser(bytes, now: now)
    guard let seconds = parser.parse() else { return nil }
    self.seconds = seconds
  }

  /// Reads a date from text; see ``init(_:now:)-([UInt8],_)``.
  public init?(_ text: String, now: HTTPDate) {
    self.init(Array(text.utf8), now: now)
  }

  /// Returns whether the left time is earlier.
  public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
    left.seconds < right.seconds
  }

  /// Returns the seconds that have passed since another time; negative if that is later.
  ///
  /// Clamped to the range of `Int64`.
  public func seconds(since other: HTTPDate) -> Int64 {
    seconds.saturatingSubtract(other.seconds)
  }
}

extension HTTPDate: CustomStringConvertible {
  /// The time as an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// The format has the years 0 to 9999 only; a time outside them is clamped.
  public var description: String {
    let shown = max(CivilTime.earliest, min(seconds, CivilTime.latest))
    let time = CivilTime(seconds: shown)
    let day = HTTPDateNames.days[time.weekday]
    let month = HTTPDateNames.months[time.month - 1]
    let clock = "\(pad(time.hour, 2)):\(pad(time.minute, 2)):\(pad(time.second, 2))"
    return "\(day), \(pad(time.day, 2)) \(month) \(pad(Int(time.year), 4)) \(clock) GMT"
  }

  private func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}
