/// The settings that determine the responses a cache may store and the time for which it may use
/// them (RFC 9111).
///
/// The rules are functions of stored response, request and time; they are in the extensions.
public struct CacheRules: Sendable, Hashable {
  /// The kind of a cache (RFC 9111, section 1.1).
  public enum Role: Sendable, Hashable {
    /// A cache for one user: a client.
    case privateCache
    /// A cache for several users: a proxy.
    case sharedCache
  }

  /// The kind of the cache.
  public var role: Role

  /// The names of the fields that take precedence over `Cache-Control`, the first one first (RFC
  /// 9213). None by default: they are for caches of the origin, such as ``fieldsForCDNs``.
  public var targetedFields: [String] = []

  /// The targeted fields for a cache that works for an origin, as a reverse proxy (RFC 9213, section
  /// 3).
  public static let fieldsForCDNs = ["CDN-Cache-Control"]

  /// The part of its age at receipt for which a response without an explicit lifetime stays fresh,
  /// in percent. RFC 9111, section 4.2.2 calls 10 typical. Clamped to 0...100.
  public var heuristicPercent = 10

  /// The maximum lifetime of a response without an explicit one, in seconds: a week.
  public var heuristicMaximumSeconds: Int64 = 7 * 86_400

  /// The treatment of responses that may be meant for one user; has no effect in a private cache.
  public var setCookie: SetCookie
  /// Whether a private cache ignores the `Authorization` of requests, for a program with one user
  /// whose tokens change. Otherwise, a response to a request with one value answers only requests
  /// with that value. Has no effect in a shared cache.
  public var ignoresAuthorization = false
  /// Whether a private cache keeps a history: responses that it may not reuse, such as temporary
  /// redirects, for use without a network (RFC 9111, section 6). Has no effect in a shared cache.
  public var keepsHistory = false
  /// Whether the history has responses and requests with `no-store`, too.
  public var keepsNoStore = false

  /// Creates the default rules of a role.
  public init(role: Role = .privateCache, setCookie: SetCookie = .drop) {
    self.role = role
    self.setCookie = setCookie
  }

  var isShared: Bool { role == .sharedCache }
}
