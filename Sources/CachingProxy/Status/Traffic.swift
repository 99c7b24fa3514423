internal import CacheFormat
internal import CacheSystem

/// The counts of a proxy's answers, in memory of a fixed size.
final class Traffic: Sendable {
  static let keptSeconds = 300
  static let keptMinutes = 24 * 60
  static let keptAnswers = 200
  /// The limit on the text that is kept with an answer, in bytes; a URL may have 64 KiB.
  static let keptTextBytes = 1024

  private let state = Lock(State())
  private let recent = RecentAnswers(count: Traffic.keptAnswers)

  private struct State: Sendable {
    var total = TrafficCounts()
    var tunnels = TunnelCounts()
    var seconds = TrafficRing(spanSeconds: 1, count: Traffic.keptSeconds)
    var minutes = TrafficRing(spanSeconds: 60, count: Traffic.keptMinutes)
  }

  /// Records an answer. The proxy's own pages are not counted.
  ///
  /// - Complexity: O(1), and two short locks.
  func add(_ record: AnswerRecord) {
    guard let account = record.account else { return }
    let second = record.endSecond
    recent.add(RecentAnswer(outcome: account.outcome, record: record.shortened))
    state.withLock { state in
      if record.source == .tunnel { state.tunnels.end(record) }
      state.total.add(record, account)
      state.seconds.add(record, account, at: second)
      state.minutes.add(record, account, at: second)
    }
  }

  func tunnelBegan() { state.withLock { $0.tunnels.began += 1 } }

  func report(at now: Timestamp) -> TrafficReport {
    let state = state.withLock { $0 }
    let second = now.nanoseconds / 1_000_000_000
    return TrafficReport(
      total: state.total, tunnels: state.tunnels, seconds: state.seconds.counts(upTo: second),
      minutes: state.minutes.counts(upTo: second), recent: recent.newest())
  }
}

struct TrafficReport: Sendable {
  var total: TrafficCounts
  var tunnels = TunnelCounts()
  /// The last 300 seconds, the oldest first.
  var seconds: [TrafficSpan]
  /// The last 1,440 minutes, the oldest first.
  var minutes: [TrafficSpan]
  /// The last answers, the newest first.
  var recent: [RecentAnswer]

  /// Returns the sum of the last whole seconds. The present second is left out, because it is
  /// incomplete.
  func last(seconds count: Int) -> TrafficCounts {
    var sum = TrafficCounts()
    for span in seconds.dropLast().suffix(count) { sum += span.counts }
    return sum
  }
}

/// One of the last answers, and its outcome.
struct RecentAnswer: Sendable, Hashable {
  var outcome: AnswerOutcome
  var record: AnswerRecord
}

extension AnswerRecord {
  /// The second since 1970 in which the answer ended.
  fileprivate var endSecond: Int64 {
    let duration = Int64(clamping: microseconds / 1_000_000)
    let (end, overflow) = (time.nanoseconds / 1_000_000_000).addingReportingOverflow(duration)
    return overflow ? time.nanoseconds / 1_000_000_000 : end
  }

  /// The record with texts of a limited length.
  fileprivate var shortened: AnswerRecord {
    let limit = Traffic.keptTextBytes
    guard url.utf8.count > limit || reason.utf8.count > limit || method.utf8.count > limit else {
      return self
    }
    var copy = self
    copy.url = url.shortened(toBytes: limit)
    copy.method = method.shortened(toBytes: limit)
    copy.reason = reason.shortened(toBytes: limit)
    return copy
  }
}

extension String {
  /// Returns the text, or its beginning of at most `limit` bytes with an ellipsis if it is longer.
  func shortened(toBytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(utf8.startIndex, offsetBy: limit)
    // A character is not cut.
    while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
    return String(self[..<end]) + "\u{2026}"
  }
}
