/// Says what the caller wants of stored responses; the first six are those of
/// `URLRequest.CachePolicy`.
public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
  /// As RFC 9111 and the fields of request and response say.
  case protocolRules
  /// From the origin, whatever is stored; what comes is stored
  /// (`reloadIgnoringLocalCacheData`).
  case reload
  /// The same, and asks the caches on the way to do so, too
  /// (`reloadIgnoringLocalAndRemoteCacheData`).
  case reloadFromOrigin
  /// From the store whatever its age, else from the origin (`returnCacheDataElseLoad`). Responses
  /// that must not be used without validation (`no-cache`, `must-revalidate` when stale) are
  /// validated.
  case storedElseLoad
  /// From the store whatever its age, else not at all (`returnCacheDataDontLoad`).
  case storedOnly
  /// From the store if the origin confirms it (`reloadRevalidatingCacheData`).
  case revalidate
  /// From the store, however old and even where validation is demanded: there is no network. In a
  /// shared cache not what may be meant for one user (`CacheRules.SetCookie`).
  case offline

  /// Tells whether the network may be asked.
  package var allowsNetwork: Bool { self != .storedOnly && self != .offline }
}
