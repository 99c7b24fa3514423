package import CacheFormat
package import CacheStore
package import HTTPSemantics

/// The rules of HTTP combined with a store. It decides how to answer a request, and whether to
/// store a response.
///
/// It uses neither a network nor a clock: the caller passes the current time. It is safe to use
/// from many threads. Its functions block as long as the store does: a few microseconds if the data
/// is in memory or in the system's cache.
package final class ResponseCache: Sendable {
  package let store: Store
  package let rules: CacheRules
  let keyRule: KeyRule
  let hot: HotResponses
  /// The responses that are kept in memory only.
  package let memory: MemoryResponses
  /// The keys whose response was found damaged. The look-up that finds the damage sets the entry aside,
  /// so a second decision about the same request could not say why there is no response.
  let damaged = RecentKeys(maximumCount: 64)
  /// The keys whose responses are invalid, but could not be removed from the store, and since when. So
  /// this process does not serve them; others do, because only the store could tell them.
  let outdated = RecentKeys(maximumCount: 1024)
  let fingerprintKey: FingerprintKey
  let mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)?

  /// The maximum length of bodies that are read at once and verified before they are served.
  package static let smallBody = 64 * 1024

  /// The maximum length of bodies that are verified before they are served, once for each file and
  /// process. Longer bodies are verified while they are read completely.
  package static let verifiedBytes: UInt64 = 16 << 20

  /// Creates a cache.
  ///
  /// - Parameters:
  ///   - fingerprintKey: conceals credentials that select stored responses.
  ///   - hotBytes: the maximum memory for decoded stored responses, including bodies.
  ///   - memoryOnlyBytes: the maximum memory for responses that are kept in memory and not stored.
  ///   - mayReturnStored: returns whether a stored response that matches a request may be returned
  ///     for it; is called before the rules check whether the response is fresh.
  package init(
    store: Store, rules: CacheRules = CacheRules(), keyRule: KeyRule = .url,
    fingerprintKey: FingerprintKey = FingerprintKey(), hotBytes: Int = 0,
    memoryOnlyBytes: Int = 0,
    mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)? = nil
  ) {
    self.store = store
    self.rules = rules
    self.keyRule = keyRule
    self.fingerprintKey = fingerprintKey
    hot = HotResponses(bytes: hotBytes)
    memory = MemoryResponses(bytes: memoryOnlyBytes)
    self.mayReturnStored = mayReturnStored
  }

  package func key(of request: HTTPRequest) -> ByteString {
    keyRule.key(of: request)
  }

  /// Returns all keys under which a response to a request may be stored.
  package func keys(of request: HTTPRequest) -> [ByteString] {
    [key(of: request), keyRule.headKey(of: request)]
  }

  /// Returns the names of the fields of a request that select a response even if `Vary` does not
  /// contain them.
  ///
  /// A private cache may store a response that was sent to one user. It must not serve that
  /// response to another user of the same program with other credentials.
  ///
  /// A request whose `Host` is not that of its URL has another target than the URL, which is the key.
  func implicitlySelecting(_ request: HTTPRequest) -> [String] {
    let isForOneUser =
      rules.role == .privateCache && !ignoresAuthorization
      && request.fields.contains("Authorization")
    let names = isForOneUser ? ["authorization"] : []
    return request.namesAnotherHost ? names + ["host"] : names
  }

  /// Returns the selection of a response to a request; `nil` if no other request selects it.
  func selection(varyOf fields: HTTPFields, by request: HTTPRequest) -> Selection? {
    Selection(
      varyOf: fields, request: request.fields, and: implicitlySelecting(request), conceal: conceal)
  }

  /// Whether `Authorization` does not select, because all stored responses belong to one user.
  var ignoresAuthorization: Bool { rules.role == .privateCache && rules.ignoresAuthorization }

  /// Returns the text that is written to the disk in place of a secret value.
  func conceal(_ value: [UInt8]) -> [UInt8] {
    // The seed makes equal secrets different in two stores.
    let seed = (0..<8).map { UInt8(truncatingIfNeeded: store.hashSeed >> (8 * UInt64($0))) }
    return Array(fingerprintKey.fingerprint(of: seed + value).hexadecimal.utf8)
  }
}
