/// Tells how long a response is fresh and why.
public struct FreshnessLifetime: Sendable, Hashable {
  /// Names what gave the lifetime.
  public enum Basis: Sendable, Hashable {
    /// `s-maxage`, in a shared cache.
    case sMaxAge
    /// `max-age`.
    case maxAge
    /// `Expires`.
    case expires
    /// The time since the last change (RFC 9111, section 4.2.2).
    case heuristic
    /// Nothing: the response was never fresh.
    case none
  }

  /// Gives the lifetime, 0 to ``DeltaSeconds/maximum``.
  public let seconds: Int64

  /// Names what gave the lifetime.
  public let basis: Basis

  /// Makes a lifetime; the seconds are brought into their range.
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
      // Nobody said that it may be kept, and something in it is for one user.
      !forbidsForcedStaleness(of: response),
      role == .privateCache || !response.fields.contains("Set-Cookie")
    else { return FreshnessLifetime(seconds: 0, basis: .none) }
    let unchanged = (facts.date ?? response.responseTime).seconds(since: lastModified)
    let percent = Int64(max(0, min(heuristicPercent, 100)))
    // More than the limit cannot come out of it, and a product of limited numbers fits.
    let part = min(max(0, unchanged), DeltaSeconds.maximum * 100) * percent / 100
    return FreshnessLifetime(seconds: min(part, heuristicMaximumSeconds), basis: .heuristic)
  }

  /// Returns the age of a response in seconds, 0 to ``DeltaSeconds/maximum`` (RFC 9111, section
  /// 4.2.3).
  ///
  /// A clock that was set back never makes the age negative, nor less than it was at the receipt.
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
