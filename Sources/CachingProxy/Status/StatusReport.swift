internal import CacheFormat
internal import CacheStore

/// All that the status pages say at one moment.
struct StatusReport: Sendable {
  var facts: ProxyFacts
  var now: Timestamp
  var started: Timestamp
  var storePath: String
  var statistics: Statistics
  var limits: Limits
  var traffic: TrafficReport
  /// Nil as long as the first walk through the store is under way.
  var survey: StoreSurvey?

  /// How long the proxy has been running; never negative, though the clock may have gone back.
  var uptimeSeconds: Int64 {
    let (span, overflow) = now.nanoseconds.subtractingReportingOverflow(started.nanoseconds)
    return overflow ? 0 : max(0, span / 1_000_000_000)
  }

  /// The mean of the answers a second in the last ten seconds, or since the start if that is less.
  var answersPerSecond: Double {
    let seconds = Int(min(10, max(1, uptimeSeconds)))
    return Double(traffic.last(seconds: seconds).all) / Double(seconds)
  }
}
