package import CacheFormat
package import CacheStore
package import HTTPSemantics

/// Joins the rules of HTTP with a store: request in, decision out; response in, stored or why not.
///
/// Asks no network and no clock: what it is told to be now is now. Safe to use from many threads.
/// The functions block on the disk for as long as the store does: a few microseconds for what is in
/// memory or in the system's cache.
package struct ResponseCache: Sendable {
  /// Gives the store.
  package let store: Store
  /// Gives the rules.
  package let rules: CacheRules
  let keyRule: KeyRule
  let hot: HotResponses
  let memory: MemoryResponses
  let fingerprintKey: FingerprintKey
  let mayReturnStored: (@Sendable (HTTPRequest, HTTPResponseHead) -> Bool)?

  /// Bodies up to this many bytes are read at once and verified before they are served.
  package static let smallBody = 64 * 1024

  /// Bodies up to this many bytes are verified before they are served, once for each file and
  /// process; longer ones are verified while they are read in whole.
  package static let verifiedBytes: UInt64 = 16 << 20

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - fingerprintKey: conceals credentials that select stored responses.
  ///   - hotBytes: bounds the memory for stored responses that are kept decoded, bodies included.
  ///   - memoryOnlyBytes: bounds the memory for responses that are kept there and not stored.
  ///   - mayReturnStored: decides, after the rules, whether a stored response may be returned for
  ///     a request.
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

  /// Returns the key of a request in the store.
  package func key(of request: HTTPRequest) -> ByteString {
    keyRule.key(of: request)
  }

  /// Fields of a request that select a response even where `Vary` does not name them.
  ///
  /// A private cache may store what was sent to one user, but not show it to another one who uses
  /// the same program with other credentials.
  func implicitlySelecting(_ request: HTTPRequest) -> [String] {
    rules.role == .privateCache && !ignoresAuthorization
      && request.fields.contains("Authorization") ? ["authorization"] : []
  }

  /// Tells whether `Authorization` selects nothing, as all that is stored is one user's.
  var ignoresAuthorization: Bool { rules.role == .privateCache && rules.ignoresAuthorization }

  /// Stands for a value that must not be written to the disk.
  func conceal(_ value: [UInt8]) -> [UInt8] {
    // With the seed: equal secrets do not show in two stores.
    let seed = (0..<8).map { UInt8(truncatingIfNeeded: store.hashSeed >> (8 * UInt64($0))) }
    return Array(fingerprintKey.fingerprint(of: seed + value).hexadecimal.utf8)
  }
}
