import CacheSystem

/// Follows the purge list of the tier, and removes purged responses from the store, also those that
/// were purged while this machine was away: the store has the list of the purges that were applied.
final class RemotePurges: Sendable {
  /// The time between two readings. Look-ups read the list, too, if that was longer ago.
  static let interval = Duration.seconds(5)

  private let tier: RemoteCache
  private let cache: ResponseCache
  /// The store, with one thread, so that lists are applied one after the other. Of two at once, the second
  /// could be done before the first is saved, or remove what was stored after the first.
  private let store: AsyncStore
  private let permits: StoringPermits
  private let flights: Flights
  private let task = Lock<Task<Void, Never>?>(nil)
  private let listener = Lock<UInt64?>(nil)
  /// The purges that are applied to the store, as far as this process knows; `nil` before the first.
  private let applied = Lock<PurgeList?>(nil)
  /// Whether the list in the store was read. That happens once: what other processes apply later does not
  /// end what this one is receiving.
  private let isRead = Lock(false)

  init(
    _ tier: RemoteCache, _ cache: ResponseCache, _ store: Store, _ permits: StoringPermits,
    _ flights: Flights
  ) {
    self.tier = tier
    self.cache = cache
    self.store = AsyncStore(store, threads: 1)
    self.permits = permits
    self.flights = flights
  }

  deinit { stop() }

  /// Ends following the list.
  func stop() {
    let running = task.withLock { $0.take() }
    if let running { callOut { running.cancel() } }
    if let number = listener.withLock({ $0.take() }) { tier.purges.removeListener(number) }
  }

  func start() {
    let number = tier.purges.add { [weak self] list in await self?.apply(list) }
    listener.withLock { $0 = number }
    let running = Task { [weak self] in
      while !Task.isCancelled {
        await self?.applyKnown()
        // If no server answers, the list is read again after the interval.
        await self?.tier.followPurges(within: 4_000_000_000)
        try? await Task.sleep(for: Self.interval)
      }
    }
    task.withLock { $0 = running }
  }

  /// Applies the list that is known already, where clients share a tier, and again what could not be
  /// applied.
  func applyKnown() async { await apply(tier.purges.list) }

  /// Removes what purges cover that were not applied yet.
  func apply(_ list: PurgeList) async {
    await store.perform { [self] store in
      if !isRead.withLock({ $0 }) {
        let saved = Self.saved(tier, in: store)
        applied.withLock { $0 = saved }
        isRead.withLock { $0 = true }
      }
      let known = applied.withLock { $0 }
      var done = known ?? PurgeList()
      if let known {
        for scope in list.changes(since: known) {
          if succeeds({ () throws(StoreError) in try remove(scope, store) }) {
            done.add(scope, number: list.number(of: scope))
          }
        }
      } else if !list.isEmpty,
        succeeds({ () throws(StoreError) in try removeOlder(than: list, store) })
      {
        done = list
      }
      guard done != known ?? PurgeList() else { return }
      applied.withLock { $0 = done }
      save(done, in: store)
    }
  }

  /// Returns whether purged responses are gone: from a store that this process may not change, it
  /// could never remove them.
  private func succeeds(_ step: () throws(StoreError) -> Void) -> Bool {
    do throws(StoreError) {
      try step()
      return true
    } catch {
      return error.code == .readOnly
    }
  }

  /// Writes the purges that are applied, so that later processes do not apply them again. Without an
  /// error: if they do, they remove what was stored since, too.
  private func save(_ applied: PurgeList, in store: Store) {
    let name = Self.name(tier)
    // Other processes may have read other servers.
    let union = Self.saved(tier, in: store)?.union(applied) ?? applied
    let text = (union.isBounded ? union : applied).encoded(namespace: tier.options.namespace)
    guard (try? store.put(text, for: name)) != nil else { return }
    _ = try? store.pin(name)
  }

  /// Returns the highest number to which all purges that are known are applied to a store.
  static func appliedNumber(_ tier: RemoteCache, in store: Store) -> UInt64 {
    let list = tier.purges.list
    let applied = saved(tier, in: store) ?? PurgeList()
    let missing = list.changes(since: applied).map { list.number(of: $0) }.min()
    return missing.map { $0 - 1 } ?? list.newest
  }

  /// The key of the entry that has the list. Other servers have other purges.
  private static func name(_ tier: RemoteCache) -> ByteString {
    "offlinecache remote purges \(tier.options.namespace) \(tier.options.identity)"
  }

  /// Returns the purges that are applied to a store, as it has them.
  static func saved(_ tier: RemoteCache, in store: Store) -> PurgeList? {
    guard case .hit(let entry) = store.lookUp(name(tier)) else { return nil }
    return try? PurgeList(decoding: entry.body, namespace: tier.options.namespace)
  }

  /// Removes what was stored before a purge that covers it. The store has no list of these servers: it is
  /// new, or their URLs are. What was stored later must stay, so the times decide.
  private func removeOlder(than list: PurgeList, _ store: Store) throws(StoreError) {
    flights.endAll()
    permits.revokeAll()
    cache.memory.removeAll()
    for info in store.entries() {
      guard let counterpart = KeyRule.counterpart(of: info.key) else { continue }
      // The numbers of purges are at least the microseconds since 1970.
      let stored = info.created.nanoseconds / 1_000 - Int64(RemoteCache.clockTolerance * 1e6)
      let generation = UInt64(max(0, stored))
      if list.covers(info.key, tags: info.tags, generation: generation)
        || list.covers(counterpart, tags: [], generation: generation)
      {
        try store.remove(info.key, variant: info.variant)
      }
    }
  }

  private func remove(_ scope: PurgeList.Scope, _ store: Store) throws(StoreError) {
    // Responses that are being received must not be stored any more.
    if case .key(let key) = scope {
      for key in [key, KeyRule.counterpart(of: key)].compactMap(\.self) {
        flights.end(key)
        permits.revoke(key)
        cache.memory.remove(key)
        try store.remove(key)
      }
      return
    }
    flights.endAll()
    permits.revokeAll()
    cache.memory.removeAll()
    switch scope {
    case .key: break
    case .prefix(let prefix):
      for prefix in [prefix, KeyRule.counterpart(of: prefix)].compactMap(\.self) {
        try store.remove(prefix: prefix)
      }
    case .tag(let tag): try store.remove(tag: tag)
    case .everything:
      // Entries of programs without HTTP are not part of the tier.
      for prefix in ["GET ", "HEAD "] as [ByteString] { try store.remove(prefix: prefix) }
    }
  }
}
