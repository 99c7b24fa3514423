package import CacheFormat
package import HTTPSemantics

/// The times at which a response was requested and its head received (RFC 9111, section 4.2.3).
package struct ResponseTimes: Sendable, Hashable {
  /// The time at which the request was sent.
  package var request: Timestamp
  /// The time at which the head was received.
  package var response: Timestamp

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

extension StoredResponse {
  /// Creates a response from a head as it was received, with the fields that are stored.
  ///
  /// - Parameters:
  ///   - request: The request that it answers.
  ///   - old: The stored response whose bytes it continues to have; `nil` if all of them come with the
  ///     head.
  init(
    _ head: HTTPResponseHead, to request: HTTPRequest, _ times: ResponseTimes, selection: Selection,
    bytesOf old: StoredResponse? = nil, rules: CacheRules
  ) {
    let now = times.response.date
    self.init(
      status: head.status, fields: rules.fieldsToStore(head.fields, receivedAt: now),
      requestTime: times.request.date, responseTime: now, selection: selection,
      isPersonal: request.isPersonal || old?.isPersonal ?? false,
      mayBePersonal: request.mayBePersonal || old?.mayBePersonal ?? false,
      bodyDate: old == nil ? head.fields.date(now: now) : old?.bodyDate, rules: rules)
  }
}

extension CacheRules {
  /// Returns the time at which a response becomes stale; `nil` if it is stale at receipt.
  func expiry(of response: StoredResponse) -> Timestamp? {
    let rest =
      freshnessLifetime(of: response) - currentAge(of: response, at: response.responseTime)
    guard rest > 0 else { return nil }
    return HTTPDate(seconds: response.responseTime.seconds + rest).timestamp
  }
}
