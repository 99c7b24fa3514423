import CacheSystem
import HTTPTransports

/// The look-ups of names whose transfers and tunnels have ended. Used from any thread.
///
/// A thread of libcurl is in getaddrinfo(3) until that returns, and keeps a socket and that of the
/// resolver. Without a limit, a client that asks for names whose servers do not answer, and leaves each
/// time, could use up all descriptors.
final class NameLookUps: Sendable {
  /// The most look-ups with which another may begin.
  static let limit = 64
  /// The time after which getaddrinfo(3) has returned: the resolver asks three servers twice, and waits
  /// five seconds for each.
  static let duration = Duration.seconds(30)

  static let refusal = "too many names are being looked up"

  private let ends = Lock<[ContinuousClock.Instant]>([])

  /// Notes that a transfer has ended whose name is still being looked up.
  ///
  /// - Parameter begin: When the look-up was begun at the latest; by default now.
  func abandon(at now: ContinuousClock.Instant, begin: ContinuousClock.Instant? = nil) {
    ends.withLock { ends in
      ends.removeAll { $0 <= now }
      ends.append((begin ?? now) + Self.duration)
    }
  }

  /// Decides whether a name may be looked up. libcurl also asks for an address, which needs no look-up,
  /// unless it is that of a proxy.
  func mayBegin(for host: String, _ setup: NetworkSetup, on handle: EasyHandle) -> Bool {
    if !setup.mayUseProxy, IPAddress(host) != nil { return true }
    // Only a server for others limits its connections, and need limit its look-ups.
    guard setup.connections == 0 || mayBegin(at: .now) else { return false }
    handle.beginLookUp()
    return true
  }

  func mayBegin(at now: ContinuousClock.Instant) -> Bool {
    ends.withLock { ends in
      ends.removeAll { $0 <= now }
      return ends.count < Self.limit
    }
  }
}
