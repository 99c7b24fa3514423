/// Tells why a response is not stored (RFC 9111, section 3).
public enum NotStoredReason: Error, Sendable, Hashable, CustomStringConvertible {
  /// Responses to this method are not stored.
  case method(String)
  /// The request had a body, so the response answers more than its URL.
  case requestBody
  /// Responses with this status cannot answer later requests.
  case status(Int)
  /// The request says `no-store`.
  case noStoreRequest
  /// The response says `no-store`.
  case noStoreResponse
  /// The response is `private`, and the cache is shared.
  case privateResponse
  /// The request had `Authorization`, and nothing allows a shared cache to store the response.
  case authorization
  /// The response sets a cookie, is not `public`, and the cache is shared (``CacheRules/SetCookie``).
  case setCookie
  /// The request had `Cookie`, the response has no explicit lifetime, and the cache is shared
  /// (``CacheRules/SetCookie``).
  case cookie
  /// The response says `must-understand`, and the status is unknown.
  case notUnderstood(Int)
  /// `Vary` has the member `*`, or names what cannot be compared: no other request would fit.
  case varyAll
  /// Nothing says that a response with this status may be stored.
  case noExplicitFreshness(Int)
  /// The response is partial although no range was asked for.
  case partNotRequested
  /// It is not certain which part of the representation the response holds.
  case partial(PartialRefusal)

  /// Says it for people.
  public var description: String {
    switch self {
    case .method(let name): "responses to \(name) are not stored"
    case .requestBody: "the request had a body"
    case .status(let status): "a response with status \(status) cannot answer later requests"
    case .noStoreRequest: "the request says no-store"
    case .noStoreResponse: "the response says no-store"
    case .privateResponse: "the response is private and the cache is shared"
    case .authorization:
      "the request has Authorization and the response does not allow shared caches to store it"
    case .setCookie: "the response sets a cookie, is not public, and the cache is shared"
    case .cookie:
      "the request has Cookie, the response has no explicit lifetime, and the cache is shared"
    case .notUnderstood(let status): "the response says must-understand; \(status) is unknown"
    case .varyAll: "the response says Vary: * or names more than can be compared"
    case .noExplicitFreshness(let status):
      "the response has no explicit lifetime, and status \(status) gives it none"
    case .partNotRequested: "the response is partial, but no range was asked for"
    case .partial(let refusal): "the response is \(refusal)"
    }
  }
}
