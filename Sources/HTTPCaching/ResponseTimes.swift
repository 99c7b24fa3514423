package import CacheFormat
package import HTTPSemantics

/// The times at which a response was requested and its head received (RFC 9111, section 4.2.3).
package struct ResponseTimes: Sendable, Hashable {
  /// The time at which the request was sent.
  package var request: Timestamp
  /// The time at which the head was received.
  package var response: Timestamp

  /// Creates a pair of times.
  package init(request: Timestamp, response: Timestamp) {
    self.request = request
    self.response = response
  }
}

extension Timestamp {
  /// The time in whole seconds.
  package var date: HTTPDate {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return HTTPDate(seconds: rest < 0 ? seconds - 1 : seconds)
  }
}

extension HTTPDate {
  /// The time as a timestamp; dates outside its range (years 1678 to 2262) are clamped.
  package var timestamp: Timestamp {
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return Timestamp(nanoseconds: seconds < 0 ? .min : .max) }
    return Timestamp(nanoseconds: nanoseconds)
  }
}
