/// A moment in UTC, exact to the nanosecond.
///
/// It reaches from 1677-09-21 to 2262-04-11; arithmetic that would leave this span stops at its end.
public struct Timestamp: Sendable, Hashable {
  /// Counts the nanoseconds since 1970-01-01T00:00:00Z; negative before it.
  public var nanoseconds: Int64

  /// Creates a moment from nanoseconds since 1970.
  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates a moment from seconds since 1970, rounded to the nearest nanosecond.
  ///
  /// What lies outside the span becomes its end; a number that is none (NaN) traps.
  public init(seconds: Double) {
    nanoseconds = Self.nanoseconds(of: seconds)
  }

  /// Gives the seconds since 1970; near the year 2026 a Double tells about 240 nanoseconds apart.
  public var seconds: Double {
    let (whole, part) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Double(whole) + Double(part) / 1e9
  }

  /// Gives the moment that lies `seconds` later (earlier when negative).
  ///
  /// What lies outside the span becomes its end; a number that is none (NaN) traps.
  public func advanced(bySeconds seconds: Double) -> Timestamp {
    let step = Self.nanoseconds(of: seconds)
    let (sum, overflow) = nanoseconds.addingReportingOverflow(step)
    if overflow { return step < 0 ? .distantPast : .distantFuture }
    return Timestamp(nanoseconds: sum)
  }

  /// The first moment that can be told.
  public static let distantPast = Timestamp(nanoseconds: .min)

  /// The last moment that can be told.
  public static let distantFuture = Timestamp(nanoseconds: .max)

  private static func nanoseconds(of seconds: Double) -> Int64 {
    precondition(!seconds.isNaN, "a timestamp needs a number")
    if seconds <= -9_223_372_037 { return .min }
    if seconds >= 9_223_372_037 { return .max }
    // Whole seconds apart from the fraction: their product with 1e9 would lose digits as a Double.
    // The conversion cuts towards zero; `rounded` would need the mathematics library for as much.
    let whole = Int64(seconds)
    let part = (seconds - Double(whole)) * 1e9
    let nearest = Int64(part < 0 ? part - 0.5 : part + 0.5)
    let (sum, overflow) = (whole * 1_000_000_000).addingReportingOverflow(nearest)
    if overflow { return seconds < 0 ? .min : .max }
    return sum
  }
}

extension Timestamp: Comparable {
  /// Orders by time.
  @inlinable
  public static func < (a: Timestamp, b: Timestamp) -> Bool {
    a.nanoseconds < b.nanoseconds
  }
}
