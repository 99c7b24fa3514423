/// Holds a time as HTTP tells it: whole seconds, UTC (RFC 9110, section 5.6.7).
public struct HTTPDate: Sendable, Hashable, Comparable {
  /// Gives the seconds since 1970-01-01 00:00:00 UTC, without leap seconds; any number.
  public var seconds: Int64

  /// Makes a time from the seconds since 1970-01-01 00:00:00 UTC.
  public init(seconds: Int64) {
    self.seconds = seconds
  }

  /// Reads a date in one of the three formats of RFC 9110, section 5.6.7; nil if it is none.
  ///
  /// The format is taken strictly, as a cache is to treat an invalid `Expires` as past (RFC 9111,
  /// section 5.3): single spaces, two-digit times, `GMT` and no other zone. The names of days and
  /// months may have any case (RFC 9111, section 4.2), and the day of the week need not fit the date.
  ///
  /// - Parameters:
  ///   - bytes: The value without white space around it.
  ///   - now: The time by which a two-digit year is understood: it is at most 50 years ahead.
  /// - Complexity: O(1).
  public init?(_ bytes: Span<UInt8>, now: HTTPDate) {
    var parser = HTTPDateParser(now: now)
    guard let seconds = parser.parse(bytes) else { return nil }
    self.seconds = seconds
  }

  /// Reads a date from text; see ``init(_:now:)-(Span<UInt8>,_)``.
  public init?(_ text: String, now: HTTPDate) {
    self.init(Array(text.utf8).span, now: now)
  }

  /// Tells which time is earlier.
  public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
    left.seconds < right.seconds
  }

  /// Returns how many seconds have passed since another time; negative if that is later.
  ///
  /// Stays at the ends of `Int64` where the difference does not fit.
  public func seconds(since other: HTTPDate) -> Int64 {
    seconds.saturatingSubtract(other.seconds)
  }
}

extension HTTPDate: CustomStringConvertible {
  /// Gives the time as an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// A time outside the years 0 to 9999, which the format cannot hold, is written as the nearest
  /// one that it can hold.
  public var description: String {
    let shown = max(CivilTime.earliest, min(seconds, CivilTime.latest))
    let time = CivilTime(seconds: shown)
    let day = HTTPDateNames.days[time.weekday]
    let month = HTTPDateNames.months[time.month - 1]
    let clock = "\(pad(time.hour, 2)):\(pad(time.minute, 2)):\(pad(time.second, 2))"
    return "\(day), \(pad(time.day, 2)) \(month) \(pad(time.year, 4)) \(clock) GMT"
  }

  private func pad(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private func pad(_ number: Int, _ width: Int) -> String {
    pad(Int64(number), width)
  }
}
