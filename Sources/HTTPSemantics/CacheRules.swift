/// Decides what a cache may store and when it may use it (RFC 9111): the settings.
///
/// The rules are functions of stored response, request and time; see the extensions.
public struct CacheRules: Sendable, Hashable {
  /// Tells for whom the cache keeps responses (RFC 9111, section 1.1).
  public enum Role: Sendable, Hashable {
    /// One user: a client.
    case privateCache
    /// Several users: a proxy.
    case sharedCache
  }

  /// Gives for whom the cache keeps responses.
  public var role: Role

  /// Names the fields that go before `Cache-Control`, the first one first (RFC 9213).
  public var targetedFields: [String]

  /// Gives which part of its age at receipt a response without explicit lifetime stays fresh, in
  /// percent; 10 is what RFC 9111, section 4.2.2 calls typical. Negative counts as 0.
  public var heuristicPercent = 10

  /// Gives the longest lifetime that is given to a response without an explicit one, in seconds; a
  /// week.
  public var heuristicMaximumSeconds: Int64 = 7 * 86_400

  /// Says what a shared cache does with answers that may be meant for one user; without effect in a
  /// private one.
  public var setCookie: SetCookie
  /// Lets a private cache answer a request whatever its `Authorization` is: for a program with one
  /// user, whose tokens change. Otherwise what was stored with one value answers that value alone.
  /// Without effect in a shared cache.
  public var ignoresAuthorization = false

  /// Makes the usual rules of a role; a shared cache obeys `CDN-Cache-Control`.
  public init(role: Role = .privateCache, setCookie: SetCookie = .drop) {
    self.role = role
    self.setCookie = setCookie
    targetedFields = role == .sharedCache ? ["CDN-Cache-Control"] : []
  }

  /// Tells whether the cache keeps responses for several users.
  var isShared: Bool { role == .sharedCache }
}
