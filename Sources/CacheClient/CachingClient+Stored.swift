// The store in terms of requests. The calls block as those of the store do.
extension CachingClient {
  /// Returns the key of a request in the store.
  public func key(of request: HTTPRequest) -> ByteString {
    cache.key(of: request)
  }

  /// Returns when the server sent or last confirmed a stored response; `nil` if it was just now.
  package func lastConfirmed(_ response: ClientResponse) -> Timestamp? {
    guard response.cacheStatus.forwardStatus != 304 else { return nil }
    return response.entry.map { EntryFields.responseTime(of: $0) }
  }

  /// Stores a response of the caller as if it had come from the network just now.
  ///
  /// - Parameters:
  /// - body: The content, with the content coding that the head states.
  ///   - head: Status and fields.
  ///   - request: The request that it answers. The codings that ``fetch(_:body:options:)`` would
  ///     offer are added, and it counts as sent with the credential that would be sent.
  ///   - userInfo: Information that is stored with it.
  ///   - options: The options with which the request would have been sent.
  ///   - inMemoryOnly: Whether it is kept in memory, up to ``ClientOptions/memoryOnlyBytes``, and
  ///     not stored. It replaces a stored one, and ends with the client.
  /// - Returns: the stored entry, or why the rules of HTTP do not permit it.
  /// - Throws: as `Store.put`.
  /// - Durability: that of the store, once it has returned.
  public func store(
    _ body: [UInt8], _ head: HTTPResponseHead, for request: HTTPRequest, userInfo: [Field] = [],
    options: FetchOptions = FetchOptions(), inMemoryOnly: Bool = false
  ) throws(StoreError) -> Result<EntryInfo, NotStored> {
    let permit = permitToStore(request)
    switch judge(head, bodyLength: body.count, for: request, options: options, received: now) {
    case .success(let storing):
      return try keep(body, storing, permit, userInfo: userInfo, inMemoryOnly: inMemoryOnly)
    case .failure(let reason): return .failure(reason)
    }
  }

  /// Decides by the rules of HTTP whether a response of the caller is stored.
  ///
  /// - Parameter received: when it was received. It replaces nothing that was received later.
  func judge(
    _ head: HTTPResponseHead, bodyLength: Int, for request: HTTPRequest, options: FetchOptions,
    received: Timestamp
  ) -> Result<Storing, NotStored> {
    // No request with an unsafe method was sent to a server here, so it invalidates nothing.
    let asked = named(ContentDecoding.offer(request, options), options.credential)
    let now = now
    guard request.method == .get else {
      return .failure(.forbidden(.method(request.method.rawValue)))
    }
    guard case .forward(let forwarding) = cache.decide(asked, policy: .reload, now: now) else {
      // With `only-if-cached`, only a stored response can be the answer.
      return .failure(.forbidden(.noStoreRequest))
    }
    // The network path counts the bytes of a part as they come.
    if head.status == 206,
      let refusal = PartialRefusal(of: head.fields, bodyLength: UInt64(bodyLength))
    {
      return .failure(.forbidden(.partial(refusal)))
    }
    let time = min(received, now)
    let times = ResponseTimes(request: time, response: time)
    switch cache.receive(head, for: forwarding, times: times) {
    case .pass(_, .no(let reason)): return .failure(.forbidden(reason))
    case .pass(_, .yes(let plan)) where plan.isSuperseded(in: store, now: now):
      return .failure(.superseded)
    case .pass(_, let storing): return .success(storing)
    case .validated, .stale, .again: return .failure(.forbidden(.status(head.status)))
    }
  }

  /// Stores a response that ``judge(_:bodyLength:for:options:received:)`` has permitted.
  func keep(
    _ body: [UInt8], _ storing: Storing, _ permit: StoringPermit, userInfo: [Field] = [],
    inMemoryOnly: Bool = false
  ) throws(StoreError) -> Result<EntryInfo, NotStored> {
    let now = now
    switch storing {
    case .yes(let plan):
      var metadata = plan.metadata
      metadata.userInfo += userInfo
      if inMemoryOnly {
        if plan.isSuperseded(in: store, now: now) { return .failure(.superseded) }
        let info = try cache.keepInMemory(body, plan, metadata: metadata, now: now)
        do throws(StoreError) { try store.remove(plan.key, variant: plan.variant) } catch {
          // The stored one would be found again.
          cache.memory.remove(plan.key) { $0.variant == info.variant }
          throw error
        }
        return .success(info)
      }
      return try permit.store(plan, cache, now: now) { () throws(StoreError) in
        try store.put(body, for: plan.key, variant: plan.variant, metadata: metadata)
      }
    case .inHistory(let plan, let reason):
      if !inMemoryOnly {
        _ = try permit.store(plan, cache, now: now) { () throws(StoreError) in
          try plan.store(body, in: store)
        }
      }
      return .failure(.forbidden(reason))
    case .no(let reason): return .failure(.forbidden(reason))
    }
  }

  /// Removes all stored responses to a request, whatever selects them, and prevents running
  /// responses from being stored.
  ///
  /// - Returns: the number of removed responses.
  /// - Throws: as `Store.remove`.
  @discardableResult
  public func remove(_ request: HTTPRequest) throws(StoreError) -> Int {
    var count = 0
    for key in cache.keys(of: request) {
      flights.end(key)
      permits.revoke(key)
      count += cache.memory.remove(key) + (try store.remove(key))
    }
    return count
  }

  /// Exempts all stored responses to a request from eviction, whatever selects them. What replaces one
  /// later is pinned, too; what is stored beside them is not.
  ///
  /// - Returns: the number of stored responses.
  /// - Throws: as `Store.pin`. Then some may be pinned.
  /// - Durability: that of the store, once it has returned.
  @discardableResult
  public func pin(_ request: HTTPRequest) throws(StoreError) -> Int {
    try setPinned(true, request)
  }

  /// Lets all stored responses to a request be evicted again.
  ///
  /// - Returns: the number of stored responses.
  /// - Throws: as `Store.unpin`.
  @discardableResult
  public func unpin(_ request: HTTPRequest) throws(StoreError) -> Int {
    try setPinned(false, request)
  }

  private func setPinned(
    _ isPinned: Bool, _ request: HTTPRequest
  ) throws(StoreError) -> Int {
    var count = 0
    for key in cache.keys(of: request) { count += try store.setPinned(isPinned, allOf: key) }
    return count
  }

  /// Closes the store, and ends what follows the tier.
  package func close() {
    remotePurges?.stop()
    store.close()
    emptyMemory()
  }

  /// Removes the responses whose keys begin with a prefix, and prevents running ones from being stored.
  ///
  /// - Throws: as `Store.remove(prefix:)`.
  package func remove(prefix: ByteString) throws(StoreError) {
    flights.endAll { $0.hasPrefix(prefix) }
    permits.revokeAll { $0.hasPrefix(prefix) }
    cache.memory.removeAll()
    try store.remove(prefix: prefix)
  }

  /// Returns whether a response is kept in memory and not stored.
  package func keepsInMemoryOnly(_ info: EntryInfo) -> Bool { cache.memory.contains(info) }

  /// Releases the memory of stored responses that are requested often, and removes the responses that
  /// are kept in memory only.
  public func emptyMemory() { cache.emptyMemory() }

  /// The approximate memory that responses take, in bytes.
  package var memoryBytes: Int { cache.memoryBytes }

  /// Removes the responses that were stored, or kept in memory, at a moment or later, and prevents
  /// running ones from being stored. Entries that are no responses stay.
  ///
  /// - Throws: as `Store.remove`, once all others are removed.
  package func removeResponses(since moment: Timestamp) throws(StoreError) {
    if moment <= now {
      flights.endAll()
      permits.revokeAll()
    }
    cache.memory.removeAll(since: moment)
    var failure: StoreError?
    for entry in store.entries() where entry.created >= moment && KeyRule.isOfResponse(entry.key) {
      do throws(StoreError) {
        try store.remove(entry.key, variant: entry.variant)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Prevents running responses from being stored, and waits until those are stored that are being
  /// stored now. Then ``removeAll()`` finds them.
  package func endStoring() async {
    flights.endAll()
    await permits.revokeAllAndWait()
  }

  /// Removes everything, and prevents running responses from being stored.
  ///
  /// - Throws: as `Store.removeAll`.
  public func removeAll() throws(StoreError) {
    flights.endAll()
    permits.revokeAll()
    emptyMemory()
    try store.removeAll()
  }
}
