// What a shared cache keeps from other users although no field of the response says so.
extension CacheRules {
  /// Says what a shared cache does with answers that may be meant for one user: those with
  /// `Set-Cookie`, and those to requests with `Cookie` or `Authorization`.
  public enum SetCookie: String, Sendable, Hashable, CaseIterable {
    /// Follows the letter of RFC 9111: such answers are stored and used like others, and each
    /// `Set-Cookie` is given to everybody.
    case keep
    /// Stores no `Set-Cookie`; an answer with one only if it says `public`; an answer to a request
    /// with `Cookie` only with an explicit lifetime. No client can have a stale answer to a request
    /// with `Cookie` or `Authorization`, unless the answer itself permits it.
    case drop
  }

  /// Whether ``SetCookie/drop`` counts: in shared caches only.
  var guardsUsers: Bool { isShared && setCookie == .drop }

  /// Tells whether a field is neither stored nor served from the store.
  func isForOneUser(_ field: HTTPField) -> Bool { guardsUsers && field.isNamed("Set-Cookie") }

  /// Tells whether a response could have been stored by a cache with these rules: one store may have
  /// served a private cache before, and what was meant for one user stays so.
  public func mayUse(_ response: StoredResponse) -> Bool {
    guard isShared else { return true }
    let directives = response.facts.directives
    if directives.isPrivate != .absent { return false }
    return setCookie == .keep || directives.isPublic || !response.fields.contains("Set-Cookie")
  }

  /// Tells whether a response may be used stale only where its own fields permit that, and not
  /// because a client or the state of the network asks for it.
  public func forbidsForcedStaleness(of response: StoredResponse) -> Bool {
    guardsUsers && response.isPersonal
  }

  /// Returns the fields of a 304 that its caller gets beside those of the stored response, as they are
  /// not stored.
  public func fieldsForCaller(of update: HTTPFields) -> [HTTPField] {
    update.filter(isForOneUser)
  }

  /// Returns why a response is kept from other users.
  func whyPersonal(
    _ request: HTTPRequest, _ fields: HTTPFields, _ facts: ResponseFacts
  ) -> NotStoredReason? {
    guard guardsUsers else { return nil }
    if !facts.directives.isPublic, fields.contains("Set-Cookie") { return .setCookie }
    return !hasExplicitLifetime(facts) && request.fields.contains("Cookie") ? .cookie : nil
  }
}

extension HTTPRequest {
  /// Tells whether two requests name the same user, or none.
  package func hasSameUser(as other: HTTPRequest) -> Bool {
    ["Cookie", "Authorization"].allSatisfy { name in
      fields.all(named: name).map(\.value) == other.fields.all(named: name).map(\.value)
    }
  }

  /// Whether the request has a field that tells its user: `Cookie` or `Authorization`.
  public var isPersonal: Bool { fields.contains("Cookie") || fields.contains("Authorization") }
}
