/// The reason why a response is not stored (RFC 9111, section 3).
public enum NotStoredReason: Error, Sendable, Hashable, CustomStringConvertible {
  /// Responses to this method are not stored.
  case method(String)
  /// The request had a body, so the response does not depend on the URL alone.
  case requestBody
  /// Responses with this status cannot answer later requests.
  case status(Int)
  /// The request has `no-store`.
  case noStoreRequest
  /// The response has `no-store`.
  case noStoreResponse
  /// The response is `private`, and the cache is shared.
  case privateResponse
  /// The request had `Authorization`, and no directive allows a shared cache to store the response.
  case authorization
  /// The response sets a cookie, is not `public`, and the cache is shared
  /// (``CacheRules/SetCookie``).
  case setCookie
  /// The request had `Cookie`, the response has no explicit lifetime, and the cache is shared
  /// (``CacheRules/SetCookie``).
  case cookie
  /// The response has `must-understand`, and the status is unknown.
  case notUnderstood(Int)
  /// `Vary` has the member `*`, or a member that is not a field name: no other request would match.
  case varyAll
  /// No field or rule allows storing a response with this status.
  case noExplicitFreshness(Int)
  /// The response is a stream of events or pictures, which usually does not end.
  case endless
  /// The response is partial although no range was requested.
  case partNotRequested
  /// The part of the representation that the response contains is uncertain.
  case partial(PartialRefusal)

  /// The reason as text for people.
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
    case .endless: "the response is a stream without an end"
    case .partNotRequested: "the response is partial, but no range was requested"
    case .partial(let refusal): "the response is \(refusal)"
    }
  }
}
