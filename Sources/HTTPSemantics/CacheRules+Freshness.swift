extension CacheRules {
  /// Returns how long a response is fresh: the seconds from its generation, 0 to
  /// ``DeltaSeconds/maximum`` (RFC 9111, sections 4.2.1 and 4.2.2).
  public func freshnessLifetime(of response: StoredResponse) -> Int64 {
    let facts = response.facts
    if isShared, let seconds = facts.directives.sMaxAge {
      return DeltaSeconds.clamped(seconds)
    }
    if let seconds = facts.directives.maxAge { return DeltaSeconds.clamped(seconds) }
    let seconds =
      switch facts.expires {
      case .invalid: Int64(0)
      case .at(let time): time.seconds(since: facts.date ?? response.responseTime)
      case .absent: heuristicLifetime(of: response)
      }
    return DeltaSeconds.clamped(seconds)
  }

  private func heuristicLifetime(of response: StoredResponse) -> Int64 {
    let facts = response.facts
    guard facts.directives.isPublic || StatusCode.isHeuristicallyCacheable(response.status),
      let lastModified = facts.lastModified,
      // No explicit lifetime was given, and the response may contain data of one user.
      !forbidsForcedStaleness(of: response),
      role == .privateCache || !response.fields.contains("Set-Cookie")
    else { return 0 }
    let unchanged = (facts.date ?? response.responseTime).seconds(since: lastModified)
    let percent = Int64(max(0, min(heuristicPercent, 100)))
    // The limits keep the product in range, and a larger value could not change the result.
    let part = min(max(0, unchanged), DeltaSeconds.maximum * 100) * percent / 100
    return min(part, heuristicMaximumSeconds)
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
