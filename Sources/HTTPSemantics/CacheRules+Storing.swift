extension CacheRules {
  /// Returns why a response must not be stored; `nil` if it may be stored (RFC 9111, sections 3,
  /// 3.3 and 3.5).
  ///
  /// A response may be stored even if it has to be validated before each use, or can be used only
  /// while the origin cannot be reached.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - head: The head of the response.
  ///   - now: The time at which the response was received.
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
    if isEndless(head.fields) { return .endless }
    if isShared, request.fields.contains("Authorization"),
      !allowsSharedUseWithAuthorization(facts.directives)
    {
      return .authorization
    }
    if let reason = whyPersonal(request, head.fields, facts) { return reason }
    // Only the existence of a selection matters here, so no value needs to be concealed.
    if Selection(varyOf: head.fields, request: request.fields, conceal: { $0 }) == nil {
      return .varyAll
    }
    return allowsStoring(head.status, facts) ? nil : .noExplicitFreshness(head.status)
  }

  /// Returns whether the response to a `POST` is the one that a `GET` of the same URL would get:
  /// its `Content-Location` is that URL, and it has an explicit lifetime (RFC 9110, section 9.3.3).
  private func isAnswerToGet(
    _ request: HTTPRequest, _ head: HTTPResponseHead, _ facts: ResponseFacts
  ) -> Bool {
    guard request.method == .post, head.status == 200, hasExplicitLifetime(facts),
      let place = head.fields.only(named: "Content-Location"),
      let url = try? request.url.resolving(place.reference)
    else { return false }
    return url == request.url
  }

  /// Returns whether the response has an explicit lifetime (RFC 9111, section 4.2.1).
  func hasExplicitLifetime(_ facts: ResponseFacts) -> Bool {
    facts.directives.maxAge != nil || facts.expires != .absent
      || isShared && facts.directives.sMaxAge != nil
  }

  /// Returns why a response cannot answer any other request, whatever its directives are.
  private func whyNotUsable(
    _ head: HTTPResponseHead, for request: HTTPRequest
  ) -> NotStoredReason? {
    switch head.status {
    case 206:
      if !request.fields.contains("Range") { return .partNotRequested }
      return PartialRefusal(of: head.fields, bodyLength: nil).map { .partial($0) }
    // These statuses depend on the conditions or the range of their own request.
    case 304, 412, 416: return .status(head.status)
    case _ where isAboutCredential(head.status): return .status(head.status)
    default: return (200...999).contains(head.status) ? nil : .status(head.status)
    }
  }

  private func whyForbidden(
    _ status: Int, _ directives: ResponseDirectives
  ) -> NotStoredReason? {
    if directives.mustUnderstand {
      // A cache that supports must-understand ignores no-store, which is for caches that do not
      // support it (RFC 9111, section 5.2.2.3).
      if !StatusCode.isUnderstood(status) { return .notUnderstood(status) }
    } else if directives.noStore {
      return .noStoreResponse
    }
    return isShared && directives.isPrivate.isAll ? .privateResponse : nil
  }

  /// Returns whether the body is of a type that is written as long as the client reads (HTML,
  /// section 9.2; `multipart/x-mixed-replace`), and no length says otherwise. Not storing is always
  /// allowed.
  private func isEndless(_ fields: HTTPFields) -> Bool {
    guard let type = fields.first(named: "Content-Type")?.text, !fields.contains("Content-Length")
    else { return false }
    let name = type.prefix { $0 != ";" && $0 != " " }.lowercased()
    return name == "text/event-stream" || name == "multipart/x-mixed-replace"
  }

  /// Returns whether the response may be shared although its request had `Authorization` (RFC 9111,
  /// section 3.5).
  ///
  /// A malformed `s-maxage` counts as 0 and does not permit sharing.
  private func allowsSharedUseWithAuthorization(_ directives: ResponseDirectives) -> Bool {
    directives.mustRevalidate || directives.isPublic || (directives.sMaxAge ?? 0) > 0
  }

  /// Returns whether at least one condition of the last list in RFC 9111, section 3 is met.
  private func allowsStoring(_ status: Int, _ facts: ResponseFacts) -> Bool {
    facts.directives.isPublic || hasExplicitLifetime(facts)
      || !isShared && facts.directives.isPrivate != .absent
      || StatusCode.isHeuristicallyCacheable(status)
  }
}
