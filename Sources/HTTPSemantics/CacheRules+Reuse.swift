/// Whether and how a stored response may answer a request (RFC 9111, section 4).
public enum Reuse: Sendable, Hashable {
  /// It may answer, and remains fresh for `ttl` seconds, at least 1.
  case fresh(ttl: Int64)
  /// It may answer although it has been stale for `by` seconds, at least 0.
  case stale(by: Int64, StalePermission)
  /// It may answer once the origin has confirmed it.
  case mustValidate(ValidationReason)
}

/// The party that permits the use of a stale response (RFC 9111, section 4.2.4).
public enum StalePermission: Sendable, Hashable {
  /// The client: `max-stale`.
  case maxStale
  /// The origin, while the cache validates the response: `stale-while-revalidate` (RFC 5861).
  case staleWhileRevalidate
}

/// The reason why a stored response must be validated before use.
public enum ValidationReason: Sendable, Hashable, CustomStringConvertible {
  /// It has been stale for `by` seconds.
  case stale(by: Int64)
  /// It was received at a later time than now, so its age is not known.
  case clockSetBack
  /// Its own `no-cache` requires validation, or a directive of a later 304 forbids storing it.
  case noCache
  /// The `no-cache` of the request requires validation.
  case requestNoCache
  /// It is older than the request's `max-age`.
  case requestMaxAge
  /// It does not remain fresh for the `min-fresh` of the request.
  case requestMinFresh

  /// The reason as text for people.
  public var description: String {
    switch self {
    case .stale(by: 0): "it is not fresh"
    case .stale(let seconds): "it has been stale for \(seconds) s"
    case .clockSetBack: "it is from a later time than now, because the clock was set back"
    case .noCache: "the response says no-cache"
    case .requestNoCache: "the request says no-cache"
    case .requestMaxAge: "it is older than the request's max-age"
    case .requestMinFresh: "it does not stay fresh for the request's min-fresh"
    }
  }
}

/// The way in which a request to the origin failed.
public enum ForwardFailure: Sendable, Hashable {
  /// There was no response: no connection, or it broke.
  case unreachable
  /// The response had this status, 500 to 599.
  case serverError(Int)
}

extension CacheRules {
  /// Decides whether a stored response may answer a request (RFC 9111, sections 4 and 4.2.4, 5.2.1;
  /// RFC 5861; RFC 8246).
  ///
  /// The caller must ensure that method, URL and selecting fields match.
  ///
  /// - Complexity: O(1).
  public func reuse(
    of response: StoredResponse, for request: RequestDirectives, at now: HTTPDate
  ) -> Reuse {
    let directives = response.facts.directives
    if demandsValidation(directives) { return .mustValidate(.noCache) }
    if request.noCache { return .mustValidate(.requestNoCache) }
    if isOfFuture(response, now) { return .mustValidate(.clockSetBack) }
    let age = currentAge(of: response, at: now)
    let ttl = freshnessLifetime(of: response) - age
    if response.isOutdated { return .mustValidate(.stale(by: max(0, -ttl))) }
    if ttl <= 0 { return staleReuse(of: response, for: request, age: age, by: -ttl) }
    // Clients use a max-age of 0 to ask for validation, even within a second of the receipt.
    if let maxAge = request.maxAge, age > maxAge || maxAge == 0, !directives.immutable {
      return .mustValidate(.requestMaxAge)
    }
    if let minFresh = request.minFresh, ttl < minFresh { return .mustValidate(.requestMinFresh) }
    return .fresh(ttl: ttl)
  }

  /// Returns whether the clock was ahead when the response came, so that its age is not known: by more
  /// than a minute, or at all with a lifetime that the caller sets.
  package func isOfFuture(
    _ response: StoredResponse, _ now: HTTPDate, lifetime: Int64? = nil
  ) -> Bool {
    response.responseTime.seconds(since: now) > (lifetime == nil ? 60 : 0)
  }

  /// Decides the same with a lifetime that the caller sets. It counts from the time at which the
  /// response was received or last confirmed, and replaces the lifetime from the server.
  ///
  /// If a later 304 had a directive that forbids storing the response, it is validated
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
    // Then no response may be used for longer than requested.
    if isOfFuture(response, now, lifetime: lifetime) { return .mustValidate(.clockSetBack) }
    let left = timeLeft(of: lifetime, for: response, at: now)
    return left > 0
      ? .fresh(ttl: left) : .mustValidate(.stale(by: Int64(0).saturatingSubtract(left)))
  }

  /// Returns the seconds that are left of a lifetime that the caller sets, which counts from the time at
  /// which the response was received or last confirmed; 0 or less if the response is stale by it.
  public func timeLeft(
    of lifetime: Int64, for response: StoredResponse, at now: HTTPDate
  ) -> Int64 {
    let age = now.seconds(since: response.responseTime)
    let left = age < 0 ? 0 : lifetime.saturatingSubtract(age)
    return response.isOutdated ? min(left, 0) : left
  }

  private func staleReuse(
    of response: StoredResponse, for request: RequestDirectives, age: Int64, by: Int64
  ) -> Reuse {
    let directives = response.facts.directives
    if forbidsStale(directives) { return .mustValidate(.stale(by: by)) }
    if let maxAge = request.maxAge, age > maxAge || maxAge == 0 {
      return .mustValidate(.requestMaxAge)
    }
    if request.minFresh != nil { return .mustValidate(.requestMinFresh) }
    // The client's limit also restricts what the origin permits.
    if case .seconds(let limit) = request.maxStale, by > limit {
      return .mustValidate(.stale(by: by))
    }
    if request.maxStale != nil, !forbidsForcedStaleness(of: response) {
      return .stale(by: by, .maxStale)
    }
    // A client that sends `max-age` does not accept stale responses (RFC 9111, section 5.2.1.1).
    if request.maxAge == nil, let window = directives.staleWhileRevalidate, by < window {
      return .stale(by: by, .staleWhileRevalidate)
    }
    return .mustValidate(.stale(by: by))
  }

  /// Decides whether the response to one request may also answer another request that waited for it
  /// (RFC 9111, section 4).
  ///
  /// - Parameters:
  ///   - response: The response to the first request.
  ///   - request: The directives of the request that waited.
  ///   - now: The current time.
  ///   - takesStale: Whether the response may be stale. This is right if the request came before
  ///     the response: the origin's response to the request itself would not be newer. A response
  ///     that must be validated for each request (`no-cache`, `must-revalidate`) is not used even
  ///     then.
  public func mayCollapse(
    _ response: StoredResponse, for request: RequestDirectives, at now: HTTPDate, takesStale: Bool
  ) -> Bool {
    switch reuse(of: response, for: request, at: now) {
    case .fresh, .stale: true
    case .mustValidate(.stale), .mustValidate(.clockSetBack):
      takesStale && !forbidsStale(response.facts.directives)
    case .mustValidate: false
    }
  }

  /// Decides whether a stored response may answer a request that the origin could not answer (RFC
  /// 9111, sections 4.2.4 and 4.3.3; RFC 5861, section 4).
  ///
  /// Without a connection, the cache is disconnected: the response may be used unless the response
  /// or the request's `no-cache` forbids it. After an error response, it may be used only for the
  /// time of `stale-if-error` of the response or the request. A response that may be meant for one
  /// user may be used only for the time of its own `stale-if-error`
  /// (``forbidsForcedStaleness(of:)``).
  public func mayServeStale(
    _ response: StoredResponse, for request: RequestDirectives, at now: HTTPDate,
    after failure: ForwardFailure
  ) -> Bool {
    let directives = response.facts.directives
    if demandsValidation(directives) || request.noCache { return false }
    let age = currentAge(of: response, at: now)
    let staleness = age - freshnessLifetime(of: response)
    let isStale = staleness >= 0 || response.isOutdated || isOfFuture(response, now)
    if forbidsStale(directives), isStale { return false }
    let isGuarded = forbidsForcedStaleness(of: response)
    let window = max(directives.staleIfError ?? 0, isGuarded ? 0 : request.staleIfError ?? 0)
    switch failure {
    case .unreachable: return !isGuarded || staleness < window
    case .serverError(let status):
      return StatusCode.isServerFailure(status) && max(0, staleness) < window
    }
  }

  /// Returns whether the response must be validated even if it is fresh.
  private func demandsValidation(_ directives: ResponseDirectives) -> Bool {
    directives.noCache.isAll || forbidsUse(directives)
  }

  /// Returns whether the response must not be stored.
  ///
  /// A stored response has no such directive at first, but a 304 to a validation may add one. From
  /// then on, the origin does not want the response to be used again (RFC 9111, section 3.2).
  private func forbidsUse(_ directives: ResponseDirectives) -> Bool {
    (directives.noStore && !directives.mustUnderstand) || (isShared && directives.isPrivate.isAll)
  }

  /// Returns whether the response must always be validated once it is stale (RFC 9111, sections
  /// 5.2.2.2, 5.2.2.8 and 5.2.2.10).
  private func forbidsStale(_ directives: ResponseDirectives) -> Bool {
    directives.mustRevalidate
      || (isShared && (directives.proxyRevalidate || directives.sMaxAge != nil))
  }
}
