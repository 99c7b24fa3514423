public import CacheFormat
public import CacheStore
import HTTPCaching
public import HTTPSemantics

// What callers do to the store by hand, in terms of requests. Blocks as the store does.
extension CachingClient {
  /// Returns the key of a request in the store.
  public func key(of request: HTTPRequest) -> ByteString {
    cache.key(of: request)
  }

  /// Returns when its server gave or last confirmed a response that came from the store; nil where
  /// that was just now.
  package func lastConfirmed(_ response: ClientResponse) -> Timestamp? {
    guard response.cacheStatus.forwardStatus != 304 else { return nil }
    return response.entry.map { cache.responseTime(of: $0) }
  }

  /// Stores an answer that the caller has, as if it had come from the network just now.
  ///
  /// - Parameters:
  ///   - body: Gives the content, with the content coding that the head states.
  ///   - head: Gives status and fields.
  ///   - request: Gives the request that it answers; the codings that ``fetch(_:body:options:)``
  ///     would offer are added to it, and it counts as sent with the credential that would be.
  ///   - userInfo: Gives what is kept beside it.
  ///   - options: Says how the request would have been answered.
  ///   - inMemoryOnly: Whether it is kept in memory, up to ``ClientOptions/memoryOnlyBytes``, and
  ///     not stored. It takes the place of a stored one, and ends with the client.
  /// - Returns: what is stored, or why the rules of HTTP do not let it be.
  /// - Throws: as `Store.put`.
  /// - Durability: that of the store, once it has returned.
  public func store(
    _ body: [UInt8], _ head: HTTPResponseHead, for request: HTTPRequest, userInfo: [Field] = [],
    options: FetchOptions = FetchOptions(), inMemoryOnly: Bool = false
  ) throws(StoreError) -> Result<EntryInfo, NotStored> {
    // An unsafe method has done nothing to a server here, so it makes nothing invalid either.
    let asked = named(ContentDecoding.offer(request, options), options.credential)
    let now = now
    guard request.method == .get else {
      return .failure(.forbidden(.method(request.method.rawValue)))
    }
    guard case .forward(let forwarding) = cache.decide(asked, policy: .reload, now: now) else {
      // `only-if-cached`: it can have no answer but the one that is stored.
      return .failure(.forbidden(.noStoreRequest))
    }
    let times = ResponseTimes(request: now, response: now)
    switch cache.receive(head, for: forwarding, times: times) {
    case .pass(_, .yes(let plan)):
      var metadata = plan.metadata
      metadata.userInfo += userInfo
      if inMemoryOnly {
        let info = try cache.keepInMemory(body, plan, metadata: metadata, now: now)
        try store.remove(plan.key, variant: plan.variant)
        return .success(info)
      }
      let info = try store.put(body, for: plan.key, variant: plan.variant, metadata: metadata)
      cache.removeFromMemory(plan.key, variant: plan.variant)
      return .success(info)
    case .pass(_, .no(let reason)): return .failure(.forbidden(reason))
    case .pass(_, .inHistory(let plan, let reason)):
      try store.put(body, for: plan.key, variant: plan.variant, metadata: plan.metadata)
      return .failure(.forbidden(reason))
    case .validated, .stale, .again: return .failure(.forbidden(.status(head.status)))
    }
  }

  /// Removes all that is stored for a request, whatever selects it, and keeps answers that are
  /// under way from being stored.
  ///
  /// - Returns: the number of stored responses that were there.
  /// - Throws: as `Store.remove`.
  @discardableResult
  public func remove(_ request: HTTPRequest) throws(StoreError) -> Int {
    let key = key(of: request)
    flights.end(key)
    permits.revoke(key)
    return cache.removeFromMemory(key) + (try store.remove(key))
  }

  /// Whether a response is kept in memory and not stored.
  package func keepsInMemoryOnly(_ info: EntryInfo) -> Bool { cache.keepsInMemory(info) }

  /// The memory in bytes that responses take, roughly.
  package var memoryBytes: Int { cache.memoryBytes }

  /// Removes the responses that have been kept in memory, and not stored, since a moment.
  package func removeFromMemory(since moment: Timestamp) {
    cache.removeAllFromMemory(since: moment)
  }

  /// Removes everything, and keeps answers that are under way from being stored.
  ///
  /// - Throws: as `Store.removeAll`.
  public func removeAll() throws(StoreError) {
    flights.endAll()
    permits.revokeAll()
    cache.removeAllFromMemory()
    try store.removeAll()
  }
}
