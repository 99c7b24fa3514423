/// The hosts whose clients refuse our certificate, with their own list of authorities or with pins.
///
/// A client may also break a handshake off for other reasons: a browser that opens a connection to be
/// ready, a program that is cancelled, a network that goes. So a host counts as refused after two broken
/// handshakes without a request between them, for an hour.
struct RefusedHosts {
  static let enough = 2
  static let duration = Duration.seconds(3600)
  /// The most hosts that are remembered; the oldest is forgotten for another.
  static let maximum = 1_024

  private var hosts: [String: (refusals: Int, last: ContinuousClock.Instant)] = [:]

  func contains(_ host: String, at now: ContinuousClock.Instant) -> Bool {
    hosts[host].map { $0.refusals >= Self.enough && now < $0.last + Self.duration } ?? false
  }

  /// Returns the hosts that count as refused, in order.
  func hosts(at now: ContinuousClock.Instant) -> [String] {
    hosts.keys.filter { contains($0, at: now) }.sorted()
  }

  /// Notes a handshake that a client has broken off after it got our certificate.
  ///
  /// - Returns: Whether the host counts as refused from now on.
  mutating func refuse(_ host: String, at now: ContinuousClock.Instant) -> Bool {
    if let known = hosts[host], now >= known.last + Self.duration { hosts[host] = nil }
    if hosts[host] == nil, hosts.count >= Self.maximum,
      let oldest = hosts.min(by: { $0.value.last < $1.value.last })
    {
      hosts[oldest.key] = nil
    }
    let refusals = (hosts[host]?.refusals ?? 0) + 1
    hosts[host] = (refusals, now)
    return refusals == Self.enough
  }

  /// Notes a request to a host, whose client has therefore accepted our certificate. Another client may have
  /// refused it: a host that counts as refused stays so.
  mutating func accept(_ host: String) {
    if let known = hosts[host], known.refusals < Self.enough { hosts[host] = nil }
  }
}
