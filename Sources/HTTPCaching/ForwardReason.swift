import CacheStore
public import HTTPSemantics

/// The reason why a request is not served from the store.
public enum ForwardReason: Error, Sendable, Hashable, CustomStringConvertible {
  /// No response is stored for the key.
  case absent
  /// The stored response is damaged.
  case damaged
  /// The stored entry belongs to another key with the same hash.
  case collision
  /// The store is closed.
  case closed
  /// The stored entry is not a response, because it has no status.
  case notAResponse
  /// The stored responses have other values of the selecting fields (RFC 9111, section 4.1),
  /// possibly credentials.
  case otherVariant
  /// Only other parts of the representation are stored (RFC 9111, section 3.4).
  case otherPart
  /// The stored response must be validated first (RFC 9111, section 4).
  case mustValidate(ValidationReason)
  /// The caller's policy requires the network.
  case policy(CachePolicy)
  /// The request has `no-store`.
  case requestNoStore
  /// Responses to the method are never served from the store.
  case method(String)
  /// A `GET` or `HEAD` with a body.
  case requestBody
  /// The request has a condition that only the origin can evaluate, such as `If-Match`.
  case condition(String)
  /// The user's own function refused the stored response.
  case refused

  /// The reason as `fwd` of Cache-Status (RFC 9211, section 2.2).
  package var forwarded: CacheStatus.Forward {
    switch self {
    case .absent: .uriMiss
    case .damaged, .collision, .closed, .notAResponse: .miss
    case .otherVariant: .varyMiss
    case .otherPart: .partial
    case .mustValidate(.requestNoCache), .mustValidate(.requestMaxAge),
      .mustValidate(.requestMinFresh):
      .request
    case .mustValidate(.stale), .mustValidate(.clockSetBack), .mustValidate(.noCache): .stale
    case .policy, .requestNoStore: .request
    case .method: .method
    case .requestBody, .condition, .refused: .bypass
    }
  }

  /// The reason in a few words.
  public var description: String {
    switch self {
    case .absent: "nothing is stored for it"
    case .damaged: "the stored response is damaged"
    case .collision: "another key with the same hash is stored"
    case .closed: "the store is closed"
    case .notAResponse: "the stored entry is no HTTP response"
    case .otherVariant: "the stored response is for other request fields, or another login"
    case .otherPart: "other parts of it are stored"
    case .mustValidate(let reason): "the stored response must be validated: \(reason)"
    case .policy(let policy): "the policy is \(policy.rawValue)"
    case .requestNoStore: "the request says no-store"
    case .method(let method): "answers to \(method) are not stored"
    case .requestBody: "the request has a body"
    case .condition(let field): "only the origin can evaluate \(field)"
    case .refused: "a rule of the program refused the stored response"
    }
  }

  init(_ reason: MissReason) {
    switch reason {
    case .absent: self = .absent
    case .damaged: self = .damaged
    case .collision: self = .collision
    case .closed: self = .closed
    }
  }
}
