/// The time for which a response is fresh, and the source of that time.
public struct FreshnessLifetime: Sendable, Hashable {
  /// The source of a lifetime.
  public enum Basis: Sendable, Hashable {
    /// `s-maxage`, in a shared cache.
    case sMaxAge
    /// `max-age`.
    case maxAge
    /// `Expires`.
    case expires
    /// The time since the last change (RFC 9111, section 4.2.2).
    case heuristic
    /// Nothing: the response is not fresh at any time.
    case none
  }

  /// The lifetime, 0 to ``DeltaSeconds/maximum``.
  public let seconds: Int64

  /// The source of the lifetime.
  public let basis: Basis

  /// Creates a lifetime; the seconds are clamped to their range.
  public init(seconds: Int64, basis: Basis) {
    self.seconds = DeltaSeconds.clamped(seconds)
    self.basis = basis
  }
}

extension CacheRules {
  /// Returns how long a response is fresh (RFC 9111, sections 4.2.1 and 4.2.2).
  public func freshnessLifetime(of response: StoredResponse) -> FreshnessLifetime {
    let facts = response.facts
    if isShared, let seconds = facts.directives.sMaxAge {
      return FreshnessLifetime(seconds: seconds, basis: .sMaxAge)
    }
    if let seconds = facts.directives.maxAge {
      return FreshnessLifetime(seconds: seconds, basis: .maxAge)
    }
    switch facts.expires {
    case .invalid: return FreshnessLifetime(seconds: 0, basis: .expires)
    case .at(let time):
      let seconds = time.seconds(since: facts.date ?? response.responseTime)
      return FreshnessLifetime(seconds: seconds, basis: .expires)
    case .absent: return heuristicLifetime(of: response)
    }
  }

  private func heuristicLifetime(of response: StoredResponse) -> FreshnessLifetime {
    let facts = response.facts
    guard facts.directives.isPublic || StatusCode.isHeuristicallyCacheable(response.status),
      let lastModified = facts.lastModified,
      // No explicit lifetime was given, and the response may contain data of one user.
      !forbidsForcedStaleness(of: response),
      role == .privateCache || !response.fields.contains("Set-Cookie")
    else { return FreshnessLifetime(seconds: 0, basis: .none) }
    let unchanged = (facts.date ?? response.responseTime).seconds(since: lastModified)
    let percent = Int64(max(0, min(heuristicPercent, 100)))
    // The limits keep the product in range, and a larger value could not change the result.
    let part = min(max(0, unchanged), DeltaSeconds.maximum * 100) * percent / 100
    return FreshnessLifetime(seconds: min(part, heuristicMaximumSeconds), basis: .heuristic)
  }

  /// Returns the age of a response in seconds, 0 to ``DeltaSeconds/maximum`` (RFC 9111, section
  /// 4.2.3).
  ///
  /// If the clock is set back, the age is neither negative nor less than it was when the response
  /// was received.
  public func currentAge(of response: StoredResponse, at now: HTTPDate) -> Int64 {
    let facts = response.facts
    let received = response.responseTime
    let apparentAge = max(0, received.seconds(since: facts.date ?? received))
    let responseDelay = max(0, received.seconds(since: response.requestTime))
    let correctedAge = facts.age.saturatingAdd(responseDelay)
    let initialAge = max(apparentAge, correctedAge)
    let residentTime = max(0, now.seconds(since: received))
    return DeltaSeconds.clamped(initialAge.saturatingAdd(residentTime))
  }
}
