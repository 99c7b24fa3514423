/// The field with the time at which a client may retry (RFC 9110, section 10.2.3).
package enum RetryAfter {
  /// Returns the seconds to wait; `nil` if the field is absent or invalid.
  package static func seconds(_ fields: HTTPFields, now: HTTPDate) -> Int64? {
    guard let field = fields.first(named: "Retry-After") else { return nil }
    if let seconds = field.value.withSpan({ DeltaSeconds.parse($0) }) { return seconds }
    return HTTPDate(field.value, now: now).map { max(0, $0.seconds(since: now)) }
  }
}
