/// The look-ups of names whose transfers have ended. Called on the driver thread only.
///
/// A thread of libcurl is in getaddrinfo(3) until that returns, and keeps a socket and that of the
/// resolver. Without a limit, a client that asks for names whose servers do not answer, and leaves each
/// time, could use up all descriptors.
final class NameLookUps {
  /// The most look-ups with which another may begin.
  static let limit = 64
  /// The time after which getaddrinfo(3) has returned: the resolver asks three servers twice, and waits
  /// five seconds for each.
  static let duration = Duration.seconds(30)

  private var ends: ArraySlice<ContinuousClock.Instant> = []

  /// Notes that a transfer has ended whose name is still being looked up.
  func abandon(at now: ContinuousClock.Instant) {
    ends = ends.drop { $0 <= now }
    ends.append(now + Self.duration)
  }

  func mayBegin(at now: ContinuousClock.Instant) -> Bool {
    ends = ends.drop { $0 <= now }
    return ends.count < Self.limit
  }
}
