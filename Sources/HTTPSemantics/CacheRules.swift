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

  /// Makes the usual rules of a role; a shared cache obeys `CDN-Cache-Control`.
  public init(role: Role = .privateCache) {
    self.role = role
    targetedFields = role == .sharedCache ? ["CDN-Cache-Control"] : []
  }

  /// Tells whether the cache keeps responses for several users.
  var isShared: Bool { role == .sharedCache }
}
