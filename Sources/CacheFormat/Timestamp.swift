/// A time in UTC with a resolution of one nanosecond.
///
/// The range is from 1677-09-21 to 2262-04-11. The result of arithmetic is clamped to this range.
public struct Timestamp: Sendable, Hashable {
  /// The nanoseconds since 1970-01-01T00:00:00Z; negative before it.
  public var nanoseconds: Int64

  /// Creates a time from nanoseconds since 1970.
  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates a time from seconds since 1970, rounded to the nearest nanosecond.
  ///
  /// A value outside the range is clamped to it. NaN traps.
  public init(seconds: Double) {
    nanoseconds = Self.nanoseconds(of: seconds)
  }

  /// The seconds since 1970. Near the year 2026, the precision of a Double is about 240
  /// nanoseconds.
  public var seconds: Double {
    let (whole, part) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Double(whole) + Double(part) / 1e9
  }

  /// Returns the time `seconds` later, or earlier if `seconds` is negative.
  ///
  /// A value outside the range is clamped to it. NaN traps.
  public func advanced(bySeconds seconds: Double) -> Timestamp {
    let step = Self.nanoseconds(of: seconds)
    let (sum, overflow) = nanoseconds.addingReportingOverflow(step)
    if overflow { return step < 0 ? .distantPast : .distantFuture }
    return Timestamp(nanoseconds: sum)
  }

  /// The first representable time.
  public static let distantPast = Timestamp(nanoseconds: .min)

  /// The last representable time.
  public static let distantFuture = Timestamp(nanoseconds: .max)

  private static func nanoseconds(of seconds: Double) -> Int64 {
    precondition(!seconds.isNaN, "a timestamp needs a number")
    if seconds <= -9_223_372_037 { return .min }
    if seconds >= 9_223_372_037 { return .max }
    // The whole seconds are converted separately, because their product with 1e9 would lose digits
    // as a Double. `Int64` truncates towards zero; `rounded` would need the mathematics library.
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
