import HTTPSemantics
import Synchronization

/// Knows how long origins took to answer the last request to them, if it was a moment.
final class NearbyOrigins: Sendable {
  /// What counts as a moment, from the request's sending to the head of the answer.
  static let moment = Duration.microseconds(500)

  /// How many are known at a time, at most.
  static let most = 64

  private let times = Mutex<[NormalizedURL.Origin: Duration]>([:])

  /// Returns how long the last answer took; nil where it was no moment.
  func lastTime(of url: NormalizedURL) -> Duration? {
    let origin = NormalizedURL.Origin(url)
    return times.withLock { $0[origin] }
  }

  /// Notes how long the origin of a URL took to answer.
  func note(_ url: NormalizedURL, _ time: Duration) {
    let origin = NormalizedURL.Origin(url)
    times.withLock { times in
      guard time <= Self.moment else { return times[origin] = nil }
      if times.count >= Self.most, times[origin] == nil { times = [:] }
      times[origin] = time
    }
  }
}
