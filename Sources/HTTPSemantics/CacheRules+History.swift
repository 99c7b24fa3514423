// What a cache for one user keeps of the past. Offline use is not caching but a history mechanism,
// which shows what was seen (RFC 9111, section 6).
extension CacheRules {
  /// The rules of a private cache with a history.
  public static var withHistory: CacheRules {
    var rules = CacheRules(role: .privateCache)
    rules.keepsHistory = true
    return rules
  }

  /// Whether a history is kept.
  public var hasHistory: Bool { keepsHistory && !isShared }

  /// Returns whether a response that is not stored is kept in the history: a success or a redirect
  /// that lacks only an explicit lifetime, or that no other request selects. One with `no-store`
  /// is kept only if ``keepsNoStore`` is set.
  ///
  /// - Parameters:
  ///   - head: the status and header fields of the response.
  ///   - request: the request that it answers.
  ///   - reason: why it is not stored (``whyNotStored(_:_:now:)``).
  public func mayRemember(
    _ head: HTTPResponseHead, to request: HTTPRequest, notStored reason: NotStoredReason
  ) -> Bool {
    guard hasHistory, request.method == .get, Self.isGood(head.status), head.status != 206
    else { return false }
    switch reason {
    case .noExplicitFreshness, .varyAll: return true
    case .noStoreRequest, .noStoreResponse: return keepsNoStore
    default: return false
    }
  }

  /// Returns whether the history keeps the response that one with this status replaces: a page that
  /// is gone now is still there without a network.
  public func mayRemember(whatStatusReplaces status: Int) -> Bool {
    hasHistory && (status == 404 || status == 410)
  }

  /// Returns whether the history may answer with a response because the origin cannot be reached: not if
  /// the response or the request demands the origin's consent (RFC 9111, section 4.2.4).
  public func mayRecall(_ response: StoredResponse, for request: RequestDirectives) -> Bool {
    let directives = response.facts.directives
    return !directives.noCache.isAll && !directives.mustRevalidate && !request.noCache
  }

  /// Returns whether a stored response is worth keeping when a 404 or 410 replaces it, and is served
  /// before one without a network.
  public static func isGood(_ status: Int) -> Bool { (200..<400).contains(status) && status != 304 }
}
