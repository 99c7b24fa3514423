package import CacheFormat
package import HTTPSemantics

/// Tells when a response was asked for and when its head came (RFC 9111, section 4.2.3).
package struct ResponseTimes: Sendable, Hashable {
  /// Tells when the request was sent.
  package var request: Timestamp
  /// Tells when the head was there.
  package var response: Timestamp

  /// Makes a pair of times.
  package init(request: Timestamp, response: Timestamp) {
    self.request = request
    self.response = response
  }
}

extension Timestamp {
  /// Gives the whole second.
  package var date: HTTPDate {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return HTTPDate(seconds: rest < 0 ? seconds - 1 : seconds)
  }
}

extension HTTPDate {
  /// Gives the moment; dates beyond the range of a timestamp (years 1678 to 2262) end at its bounds.
  package var timestamp: Timestamp {
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return Timestamp(nanoseconds: seconds < 0 ? .min : .max) }
    return Timestamp(nanoseconds: nanoseconds)
  }
}
