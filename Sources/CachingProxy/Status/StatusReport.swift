internal import CacheFormat
internal import CacheStore
internal import RemoteTier

/// All data of the status pages at one moment.
struct StatusReport: Sendable {
  var facts: ProxyFacts
  var now: Timestamp
  var started: Timestamp
  var storePath: String
  var statistics: Statistics
  var limits: Limits
  var traffic: TrafficReport
  /// The hosts that are tunnelled because a client has not accepted the certificate for them.
  var leftAlone: [String] = []
  /// The survey of the store, or `nil` during the first walk.
  var survey: StoreSurvey?
  /// The numbers of the second tier, or `nil` if there is none.
  var remote: RemoteStatistics?

  /// The time that the proxy has been running, in seconds. Never negative, even if the clock was
  /// set back.
  var uptimeSeconds: Int64 {
    let (span, overflow) = now.nanoseconds.subtractingReportingOverflow(started.nanoseconds)
    return overflow ? 0 : max(0, span / 1_000_000_000)
  }

  /// The mean number of answers a second in the last ten seconds, or since the start if that is
  /// less.
  var answersPerSecond: Double {
    let seconds = Int(min(10, max(1, uptimeSeconds)))
    return Double(traffic.last(seconds: seconds).all) / Double(seconds)
  }
}
