extension CacheRules {
  /// Decides whether a response may be stored; nil if so (RFC 9111, sections 3, 3.3 and 3.5).
  ///
  /// A response is stored even where it will have to be validated before each use, or can only be
  /// used while the origin cannot be reached.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - head: The head of the response.
  ///   - now: When the response was received.
  /// - Complexity: O(*n*) in the fields of both.
  public func whyNotStored(
    _ request: HTTPRequest, _ head: HTTPResponseHead, now: HTTPDate
  ) -> NotStoredReason? {
    let facts = ResponseFacts(head.fields, rules: self, now: now)
    guard request.method == .get || isAnswerToGet(request, head, facts) else {
      return .method(request.method.rawValue)
    }
    if let reason = whyNotUsable(head, for: request) { return reason }
    if RequestDirectives(request.fields).noStore { return .noStoreRequest }
    if let reason = whyForbidden(head.status, facts.directives) { return reason }
    if isShared, request.fields.contains("Authorization"),
      !allowsSharedUseWithAuthorization(facts.directives)
    {
      return .authorization
    }
    if let reason = whyPersonal(request, head.fields, facts) { return reason }
    // Only whether there is a selection counts here, so nothing needs to be concealed.
    if Selection(varyOf: head.fields, request: request.fields, conceal: { $0 }) == nil {
      return .varyAll
    }
    return allowsStoring(head.status, facts) ? nil : .noExplicitFreshness(head.status)
  }

  /// Tells whether the answer to a `POST` is what a `GET` of the same URL would get: it says so in
  /// `Content-Location`, and has an explicit lifetime (RFC 9110, section 9.3.3).
  private func isAnswerToGet(
    _ request: HTTPRequest, _ head: HTTPResponseHead, _ facts: ResponseFacts
  ) -> Bool {
    guard request.method == .post, head.status == 200, hasExplicitLifetime(facts),
      let place = head.fields.only(named: "Content-Location"),
      let url = try? request.url.resolving(place.text)
    else { return false }
    return url == request.url
  }

  /// Tells whether the response says itself how long it is fresh (RFC 9111, section 4.2.1).
  func hasExplicitLifetime(_ facts: ResponseFacts) -> Bool {
    facts.directives.maxAge != nil || facts.expires != .absent
      || isShared && facts.directives.sMaxAge != nil
  }

  /// Finds what makes a response no answer to any other request, whatever its directives say.
  private func whyNotUsable(
    _ head: HTTPResponseHead, for request: HTTPRequest
  ) -> NotStoredReason? {
    switch head.status {
    case 206:
      if !request.fields.contains("Range") { return .partNotRequested }
      return PartialRefusal(of: head.fields, bodyLength: nil).map { .partial($0) }
    // These answer conditions or a range of the one request that had them.
    case 304, 412, 416: return .status(head.status)
    default: return (200...999).contains(head.status) ? nil : .status(head.status)
    }
  }

  private func whyForbidden(
    _ status: Int, _ directives: ResponseDirectives
  ) -> NotStoredReason? {
    if directives.mustUnderstand {
      // A cache that understands ignores no-store, which is for those that do not know
      // must-understand (RFC 9111, section 5.2.2.3).
      if !StatusCode.isUnderstood(status) { return .notUnderstood(status) }
    } else if directives.noStore {
      return .noStoreResponse
    }
    return isShared && directives.isPrivate.isAll ? .privateResponse : nil
  }

  /// Tells whether the response may be shared although its request had `Authorization` (RFC 9111,
  /// section 3.5).
  ///
  /// A malformed `s-maxage` counts as 0, and must not be what permits it.
  private func allowsSharedUseWithAuthorization(_ directives: ResponseDirectives) -> Bool {
    directives.mustRevalidate || directives.isPublic || (directives.sMaxAge ?? 0) > 0
  }

  /// Tells whether at least one of the things is there that RFC 9111, section 3 lists last.
  private func allowsStoring(_ status: Int, _ facts: ResponseFacts) -> Bool {
    let directives = facts.directives
    return directives.isPublic || directives.maxAge != nil || facts.expires != .absent
      || (isShared ? directives.sMaxAge != nil : directives.isPrivate != .absent)
      || StatusCode.isHeuristicallyCacheable(status)
  }
}
