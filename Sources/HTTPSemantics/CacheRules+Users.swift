// Responses that a shared cache keeps from other users although no field of the response requires
// it.
extension CacheRules {
  /// The treatment of responses that may be meant for one user, in a shared cache: those with
  /// `Set-Cookie`, and those to requests with `Cookie` or `Authorization`.
  public enum SetCookie: String, Sendable, Hashable, CaseIterable {
    /// Follows RFC 9111 literally: such responses are stored and used like others, and each
    /// `Set-Cookie` is sent to all clients.
    case keep
    /// Does not store `Set-Cookie`. A response with `Set-Cookie` is stored only if it is `public`;
    /// a response to a request with `Cookie` only if it has an explicit lifetime. The response to a
    /// request with `Cookie` or `Authorization` is used stale only if the response itself permits
    /// it.
    case drop
  }

  /// Returns whether a status may be about the credential of its own request, which is wrong or has
  /// not the right, while responses may answer requests with another one. In a shared cache a 403 to a
  /// request with a credential answers others only if the server allows it (RFC 9111, section 3.5).
  func isAboutCredential(_ status: Int) -> Bool {
    status == 401 && (isShared || ignoresAuthorization)
      || status == 403 && !isShared && ignoresAuthorization
  }

  /// Whether ``SetCookie/drop`` applies: only in shared caches.
  var guardsUsers: Bool { isShared && setCookie == .drop }

  /// Returns whether a field is neither stored nor served from the store.
  func isForOneUser(_ field: HTTPField) -> Bool { guardsUsers && field.isNamed("Set-Cookie") }

  /// Returns whether a cache with these rules could have stored the response. A shared cache may
  /// use a store that a private cache used before; it must not use responses that were meant for
  /// one user, nor the refusal of a credential.
  public func mayUse(_ response: StoredResponse) -> Bool {
    if isAboutCredential(response.status) { return false }
    guard isShared else { return true }
    let directives = response.facts.directives
    // A shared cache does not store the fields that `private` names.
    if directives.isPrivate.isAll
      || response.fields.contains(where: { directives.isPrivate.names($0.name) })
    {
      return false
    }
    return setCookie == .keep || directives.isPublic || !response.fields.contains("Set-Cookie")
  }

  /// Returns whether a response may be used stale only if its own fields permit it, and not because
  /// of the client or the state of the network.
  public func forbidsForcedStaleness(of response: StoredResponse) -> Bool {
    guardsUsers && response.isPersonal
  }

  /// Returns the fields of a 304 that are not stored but must be sent to the caller along with
  /// those of the stored response.
  public func fieldsForCaller(of update: HTTPFields) -> [HTTPField] {
    update.filter(isForOneUser)
  }

  /// Returns why a response that may be meant for one user is not stored; `nil` if it may be
  /// stored.
  func whyPersonal(
    _ request: HTTPRequest, _ fields: HTTPFields, _ facts: ResponseFacts
  ) -> NotStoredReason? {
    guard guardsUsers else { return nil }
    if !facts.directives.isPublic, fields.contains("Set-Cookie") { return .setCookie }
    return !hasExplicitLifetime(facts) && request.fields.contains("Cookie") ? .cookie : nil
  }
}

extension HTTPRequest {
  /// Returns whether nothing suggests that two requests are from different users: they have the same
  /// fields, apart from those that a proxy adds and those that never identify a user. Any other may
  /// be a credential (`X-Api-Key`).
  package func hasSameUser(as other: HTTPRequest) -> Bool {
    func identifying(_ request: HTTPRequest) -> [(name: String, value: [UInt8])] {
      request.fields.filter { HTTPFields.mayIdentifyUser($0.name) }
        .map { ($0.name.lowercased(), $0.value) }.sorted { $0.name < $1.name }
    }
    return identifying(self).elementsEqual(identifying(other), by: ==)
  }

  /// Whether the request has a field that identifies its user: `Cookie` or `Authorization`.
  public var isPersonal: Bool { fields.contains("Cookie") || fields.contains("Authorization") }

  /// Whether the request has a field that may identify its user, such as `X-Api-Key`.
  package var mayBePersonal: Bool { fields.containsName(where: HTTPFields.mayIdentifyUser) }
}

extension HTTPFields {
  /// The request fields that tell where a request comes from or goes to, or number it, in lower case.
  /// `X-Forwarded-User` and others name the user.
  fileprivate static let ofTheWay: Set<String> = [
    "b3", "cdn-loop", "cf-connecting-ip", "cf-ipcountry", "cf-ray", "cf-visitor", "connection",
    "device-memory", "downlink", "ect", "forwarded", "host", "max-forwards", "referer", "rtt",
    "traceparent", "tracestate", "true-client-ip", "via", "x-amzn-trace-id", "x-b3-flags",
    "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid", "x-b3-traceid", "x-client-ip",
    "x-cloud-trace-context", "x-cluster-client-ip", "x-correlation-id", "x-forwarded-for",
    "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto", "x-forwarded-scheme",
    "x-forwarded-server", "x-original-forwarded-for", "x-real-ip", "x-request-id", "x-scheme",
  ]

  /// Returns whether a request field may identify the user.
  fileprivate static func mayIdentifyUser(_ name: String) -> Bool {
    let name = name.lowercased()
    return mayBeCredential(name) && !ofTheWay.contains(name)
  }

  /// Returns whether a request field may be a credential or reveal one; `name` is in lower case.
  package static func mayBeCredential(_ name: String) -> Bool {
    !harmless.contains(name) && !name.hasPrefix("sec-") && !ofPages.contains(name)
  }

  /// The fields that pages, or a proxy before the origin, add, and that often select; in lower case.
  /// `Origin` is the host of a page, without its path.
  private static let ofPages: Set<String> = [
    "access-control-request-headers", "access-control-request-method", "dpr", "origin",
    "viewport-width", "width", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
    "x-requested-with",
  ]

  /// The request fields that are no credentials and reveal none, in lower case. Any other may be one
  /// (`X-Api-Key`) or reveal one (`Referer`).
  package static let harmless: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control",
    "content-digest", "content-encoding", "content-language", "content-length", "content-md5",
    "content-type", "digest", "dnt", "expect", "if-match", "if-modified-since", "if-none-match",
    "if-range", "if-unmodified-since", "pragma", "prefer", "priority", "range", "repr-digest",
    "save-data", "sec-gpc", "te", "transfer-encoding", "upgrade-insecure-requests", "user-agent",
    "want-content-digest", "want-digest", "want-repr-digest",
  ]
}
