/// Decides about one request, again whenever the store may have changed.
struct DecisionMaker: Sendable {
  let cache: ResponseCache
  let store: AsyncStore
  var request: HTTPRequest
  var hasBody = false
  var policy: CachePolicy
  let lifetime: Int64?
  let now: Timestamp
  /// Whether the caller's thread may read files of the store.
  var readsAtOnce = false

  /// Decides on the calling thread, which may read files of the store.
  func decide() -> Decision {
    cache.decide(request, hasBody: hasBody, policy: policy, lifetime: lifetime, now: now)
  }

  /// Decides, and reads no file of an entry on a thread of the cooperative pool. The thread changes
  /// only if there is one to read, because that takes longer than the decision. (After a crash the
  /// store asks the tree for a key that it does not know yet, on the calling thread.)
  func decision() async -> Decision {
    if readsAtOnce || !cache.readsFiles(for: request) { return decide() }
    return await store.perform { _ in decide() }
  }
}
