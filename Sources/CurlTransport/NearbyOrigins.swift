import HTTPSemantics
import Synchronization

/// Knows which origins have answered the last request to them in a moment.
final class NearbyOrigins: Sendable {
  /// What counts as a moment, from the request's sending to the head of the answer.
  static let moment = Duration.microseconds(500)

  /// How many are known at a time, at most.
  static let most = 64

  private let known = Mutex<Set<NormalizedURL.Origin>>([])

  func contains(_ url: NormalizedURL) -> Bool {
    let origin = NormalizedURL.Origin(url)
    return known.withLock { $0.contains(origin) }
  }

  /// Notes how long the origin of a URL took to answer.
  func note(_ url: NormalizedURL, _ time: Duration) {
    let origin = NormalizedURL.Origin(url)
    known.withLock { known in
      guard time <= Self.moment else { return _ = known.remove(origin) }
      if known.count >= Self.most, !known.contains(origin) { known = [] }
      known.insert(origin)
    }
  }
}
