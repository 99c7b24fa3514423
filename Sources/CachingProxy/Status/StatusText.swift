internal import CacheFormat

enum StatusText {
  /// Returns a count with commas: `1,234,567`.
  static func count(_ value: UInt64) -> String {
    let digits = String(value)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// Returns bytes in powers of 1024 with about three digits: `0 B`, `1.5 KiB`, `23.4 GiB`.
  static func bytes(_ value: UInt64) -> String { ByteCount(value).description }

  /// Returns a share in percent: `98.7 %`. It is 100 only for the whole, and 0 only for nothing.
  static func percent(_ share: Double) -> String {
    let tenths = Int(max(0, min(1, share)) * 1000 + 0.5)
    switch tenths {
    case 1000: return share < 1 ? "99.9 %" : "100 %"
    case 0: return share > 0 ? "0.1 %" : "0 %"
    default: return "\(tenths / 10).\(tenths % 10) %"
    }
  }

  /// Returns a rate: with tenths up to 100, as a whole number above.
  static func rate(_ perSecond: Double) -> String {
    if perSecond <= 0 { return "0" }
    return perSecond < 99.95 ? tenths(perSecond) : count(UInt64(min(perSecond, 1e15) + 0.5))
  }

  /// Returns a duration in its two largest units: `3 d 4 h`, `12 min 5 s`.
  static func duration(seconds: Int64) -> String {
    let seconds = max(0, seconds)
    let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
    guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0 s" }
    let (size, name) = units[first]
    guard first + 1 < units.count else { return "\(seconds) s" }
    let (smaller, smallerName) = units[first + 1]
    let rest = seconds % size / smaller
    return "\(seconds / size) \(name)" + (rest == 0 ? "" : " \(rest) \(smallerName)")
  }

  /// Returns the time since a moment, in its largest unit: `now`, `5 s ago`, `3 d ago`.
  static func ago(_ time: Timestamp, at now: Timestamp) -> String {
    let (span, overflow) = now.nanoseconds.subtractingReportingOverflow(time.nanoseconds)
    let seconds = overflow ? Int64.max / 1_000_000_000 : span / 1_000_000_000
    switch seconds {
    case ..<1: return "now"
    case ..<60: return "\(seconds) s ago"
    case ..<3600: return "\(seconds / 60) min ago"
    case ..<86_400: return "\(seconds / 3600) h ago"
    default: return "\(seconds / 86_400) d ago"
    }
  }

  /// Returns the duration of an answer: `85 µs`, `1.2 ms`, `3.4 s`, `12 min 5 s`.
  static func took(microseconds: UInt64) -> String {
    switch microseconds {
    case ..<1000: "\(microseconds) \u{B5}s"
    case ..<999_950: "\(tenths(Double(microseconds) / 1e3)) ms"
    case ..<59_950_000: "\(tenths(Double(microseconds) / 1e6)) s"
    default: duration(seconds: Int64(clamping: microseconds / 1_000_000))
    }
  }

  /// Returns the time of day in UTC: `23:07:14`.
  static func timeOfDay(seconds: Int64) -> String {
    let second = ((seconds % 86_400) + 86_400) % 86_400
    return [second / 3600, second / 60 % 60, second % 60]
      .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }

  private static func tenths(_ value: Double) -> String {
    let tenths = UInt64(max(0, min(value, 1e15)) * 10 + 0.5)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
