import Foundation
import TestSupport

/// Writes dates as HTTP does, by Foundation and not by the library that is tested.
enum DateText {
  private static func formatter(_ pattern: String) -> DateFormatter {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = pattern
    return formatter
  }

  private static let imf = formatter("EEE, dd MMM yyyy HH:mm:ss 'GMT'")
  private static let rfc850 = formatter("EEEE, dd-MMM-yy HH:mm:ss 'GMT'")

  /// Returns a time in the preferred form, or in that of RFC 850.
  static func text(seconds: Int, isRFC850: Bool = false) -> String {
    (isRFC850 ? rfc850 : imf).string(from: Date(timeIntervalSince1970: Double(seconds)))
  }

  /// Returns the text of a field line.
  static func text(of line: FieldLine, now: Int, rfc850: Set<String> = []) -> String {
    switch line.value {
    case .text(let text): text
    case .secondsFromNow(let delta):
      text(seconds: now + delta, isRFC850: rfc850.contains(line.name.lowercased()))
    }
  }
}

extension TestClock {
  /// The seconds since 1970.
  var seconds: Int { Int(now() / 1_000_000_000) }
}
