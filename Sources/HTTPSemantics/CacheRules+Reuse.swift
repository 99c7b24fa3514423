/// Tells whether a stored response may answer a request, and how (RFC 9111, section 4).
public enum Reuse: Sendable, Hashable {
  /// It may, and is fresh for so many seconds yet, at least 1.
  case fresh(ttl: Int64)
  /// It may although it is stale by so many seconds, at least 0.
  case stale(by: Int64, StalePermission)
  /// It may after the origin has confirmed it.
  case mustValidate(ValidationReason)
}

/// Names who permits the use of a stale response (RFC 9111, section 4.2.4).
public enum StalePermission: Sendable, Hashable {
  /// The client: `max-stale`.
  case maxStale
  /// The origin, while the cache validates the response: `stale-while-revalidate` (RFC 5861).
  case staleWhileRevalidate
}

/// Tells why a stored response must be validated before use.
public enum ValidationReason: Sendable, Hashable, CustomStringConvertible {
  /// It is stale by so many seconds.
  case stale(by: Int64)
  /// Its `no-cache` demands it, or a directive that came with a later 304 forbids to store it.
  case noCache
  /// The request's `no-cache` asks for it.
  case requestNoCache
  /// It is older than the request's `max-age`.
  case requestMaxAge
  /// It does not stay fresh for as long as the request's `min-fresh`.
  case requestMinFresh

  /// Says it for people.
  public var description: String {
    switch self {
    case .stale(let seconds): "it has been stale for \(seconds) s"
    case .noCache: "the response says no-cache"
    case .requestNoCache: "the request says no-cache"
    case .requestMaxAge: "it is older than the request's max-age"
    case .requestMinFresh: "it does not stay fresh for the request's min-fresh"
    }
  }
}

/// Tells how the way to the origin failed.
public enum ForwardFailure: Sendable, Hashable {
  /// There was no answer: no connection, or none that held.
  case unreachable
  /// The answer had this status, 500 to 599.
  case serverError(Int)
}

extension CacheRules {
  /// Decides whether a stored response that fits the request may answer it (RFC 9111, sections 4
  /// and 4.2.4, 5.2.1; RFC 5861; RFC 8246).
  ///
  /// That method, URL and selecting fields fit is for the caller to see.
  ///
  /// - Complexity: O(1).
  public func reuse(
    of response: StoredResponse, for request: RequestDirectives, at now: HTTPDate
  ) -> Reuse {
    let directives = response.facts.directives
    if demandsValidation(directives) { return .mustValidate(.noCache) }
    if request.noCache { return .mustValidate(.requestNoCache) }
    let age = currentAge(of: response, at: now)
    let ttl = freshnessLifetime(of: response).seconds - age
    if ttl <= 0 { return staleReuse(of: response, for: request, age: age, by: -ttl) }
    // A max-age of 0 is how clients ask for validation, even within the second of the receipt.
    if let maxAge = request.maxAge, age > maxAge || maxAge == 0, !directives.immutable {
      return .mustValidate(.requestMaxAge)
    }
    if let minFresh = request.minFresh, ttl < minFresh { return .mustValidate(.requestMinFresh) }
    return .fresh(ttl: ttl)
  }

  /// Decides the same for a caller who states how long a response is good after it came or was last
  /// confirmed, in place of what its server says of that.
  ///
  /// Responses that were not to be stored, by a directive that came with a later 304, are validated
  /// nevertheless.
  ///
  /// - Parameters:
  ///   - response: The stored response.
  ///   - request: The directives of the request.
  ///   - lifetime: The caller's lifetime in seconds.
  ///   - now: The current time.
  /// - Complexity: O(1).
  public func reuse(
    of response: StoredResponse, for request: RequestDirectives, lifetime: Int64, at now: HTTPDate
  ) -> Reuse {
    if forbidsUse(response.facts.directives) { return .mustValidate(.noCache) }
    if request.noCache { return .mustValidate(.requestNoCache) }
    let age = now.seconds(since: response.responseTime)
    // A clock that was set back makes nothing good for longer than was asked for.
    guard age >= 0, age < lifetime else { return .mustValidate(.stale(by: max(0, age - lifetime))) }
    return .fresh(ttl: lifetime - age)
  }

  private func staleReuse(
    of response: StoredResponse, for request: RequestDirectives, age: Int64, by: Int64
  ) -> Reuse {
    let directives = response.facts.directives
    if forbidsStale(directives) { return .mustValidate(.stale(by: by)) }
    if let maxAge = request.maxAge, age > maxAge || maxAge == 0 {
      return .mustValidate(.requestMaxAge)
    }
    if let minFresh = request.minFresh, minFresh > 0 { return .mustValidate(.requestMinFresh) }
    switch forbidsForcedStaleness(of: response) ? nil : request.maxStale {
    case .any: return .stale(by: by, .maxStale)
    case .seconds(let limit) where by <= limit: return .stale(by: by, .maxStale)
    default: break
    }
    // A client that names an age does not take stale responses (RFC 9111, section 5.2.1.1).
    if request.maxAge == nil, let window = directives.staleWhileRevalidate, by < window {
      return .stale(by: by, .staleWhileRevalidate)
    }
    return .mustValidate(.stale(by: by))
  }

  /// Decides whether a response that one request has got may also answer another one that has waited
  /// for it (RFC 9111, section 4).
  ///
  /// - Parameters:
  ///   - response: The response that the first request has got.
  ///   - request: The directives of the request that has waited.
  ///   - now: The current time.
  ///   - takesStale: Whether the response may be stale: the request came before it did, so that the
  ///     origin's answer to the request itself would be no newer. What has to be validated for each
  ///     request (`no-cache`, `must-revalidate`) is not used even so.
  public func mayCollapse(
    _ response: StoredResponse, for request: RequestDirectives, at now: HTTPDate, takesStale: Bool
  ) -> Bool {
    switch reuse(of: response, for: request, at: now) {
    case .fresh, .stale: true
    case .mustValidate(.stale): takesStale && !forbidsStale(response.facts.directives)
    case .mustValidate: false
    }
  }

  /// Decides whether a stored response may answer a request after the origin could not (RFC 9111,
  /// sections 4.2.4 and 4.3.3; RFC 5861, section 4).
  ///
  /// Without any connection it may unless the response or the request's `no-cache` forbids it: the
  /// cache is disconnected. In place of an answer that tells of an error it may only as long as
  /// `stale-if-error` of the response or the request lasts. What may be meant for one user may be used
  /// only as long as its own `stale-if-error` lasts (``forbidsForcedStaleness(of:)``).
  public func mayServeStale(
    _ response: StoredResponse, for request: RequestDirectives, at now: HTTPDate,
    after failure: ForwardFailure
  ) -> Bool {
    let directives = response.facts.directives
    if demandsValidation(directives) || request.noCache { return false }
    let age = currentAge(of: response, at: now)
    let staleness = age - freshnessLifetime(of: response).seconds
    if forbidsStale(directives), staleness >= 0 { return false }
    let isGuarded = forbidsForcedStaleness(of: response)
    let window = max(directives.staleIfError ?? 0, isGuarded ? 0 : request.staleIfError ?? 0)
    switch failure {
    case .unreachable: return !isGuarded || staleness < window
    case .serverError(let status):
      return StatusCode.isServerFailure(status) && max(0, staleness) < window
    }
  }

  /// Tells whether the response must be validated however fresh it is.
  private func demandsValidation(_ directives: ResponseDirectives) -> Bool {
    directives.noCache.isAll || forbidsUse(directives)
  }

  /// Tells whether the response must not be stored.
  ///
  /// Such a directive cannot be there at first, but may come with the 304 to a validation; from then
  /// on the origin does not want the response to be used again (RFC 9111, section 3.2).
  private func forbidsUse(_ directives: ResponseDirectives) -> Bool {
    (directives.noStore && !directives.mustUnderstand) || (isShared && directives.isPrivate.isAll)
  }

  /// Tells whether the response must be validated once it is stale, whatever else (RFC 9111,
  /// sections 5.2.2.2, 5.2.2.8 and 5.2.2.10).
  private func forbidsStale(_ directives: ResponseDirectives) -> Bool {
    directives.mustRevalidate
      || (isShared && (directives.proxyRevalidate || directives.sMaxAge != nil))
  }
}
