/// The use of stored responses that a caller wants. The first six policies are those of
/// `URLRequest.CachePolicy`.
public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
  /// Follows RFC 9111 and the fields of request and response.
  case protocolRules
  /// Always contacts the origin, and stores its response (`reloadIgnoringLocalCacheData`).
  case reload
  /// Does the same as `reload`, and requests it from the caches on the way, too
  /// (`reloadIgnoringLocalAndRemoteCacheData`).
  case reloadFromOrigin
  /// Uses the stored response whatever its age, otherwise contacts the origin
  /// (`returnCacheDataElseLoad`). Responses that must not be used without validation (`no-cache`,
  /// `must-revalidate` when stale) are validated.
  case storedElseLoad
  /// Uses the stored response whatever its age, and never contacts the origin
  /// (`returnCacheDataDontLoad`). Responses that must not be used without validation are not used.
  case storedOnly
  /// Uses the stored response only if the origin confirms it (`reloadRevalidatingCacheData`).
  case revalidate
  /// Uses the stored response whatever its age, even if it must be validated, because there is no
  /// network. In a shared cache, this excludes responses that may be meant for one user
  /// (`CacheRules.SetCookie`).
  case offline

  package var allowsNetwork: Bool { self != .storedOnly && self != .offline }

  /// Whether a lifetime that the caller has set says how fresh a response is; the others disregard it.
  package var usesLifetime: Bool {
    switch self {
    case .protocolRules, .reload, .reloadFromOrigin, .offline: true
    case .storedElseLoad, .storedOnly, .revalidate: false
    }
  }
}
