import CacheFormat
import CacheStore
import CacheSystem
import HTTPCaching
import RemoteTier

/// Follows the purge list of the tier, and removes purged responses from the store, also those that
/// were purged while this machine was away: the number of the last purge is kept in the store.
final class RemotePurges: Sendable {
  /// The time between two readings. Look-ups read the list, too, if that was longer ago.
  static let interval = Duration.seconds(5)

  private let tier: RemoteCache
  private let cache: ResponseCache
  private let store: AsyncStore
  private let permits: StoringPermits
  private let flights: Flights
  private let task = Lock<Task<Void, Never>?>(nil)
  private let listener = Lock<UInt64?>(nil)
  private let progress = Lock(Progress())

  private struct Progress {
    /// The number of calls that are applying purges.
    var running = 0
    /// The newest purge of these calls, and of those before them.
    var newest: UInt64 = 0
    /// The number of times that purges could not be applied to the whole store, since all were. One at
    /// first: what other processes have not applied is yet to be.
    var failures = 1
  }

  init(
    _ tier: RemoteCache, _ cache: ResponseCache, _ store: AsyncStore, _ permits: StoringPermits,
    _ flights: Flights
  ) {
    self.tier = tier
    self.cache = cache
    self.store = store
    self.permits = permits
    self.flights = flights
  }

  deinit {
    let running = task.withLock { $0.take() }
    if let running { callOut { running.cancel() } }
    if let number = listener.withLock({ $0.take() }) { tier.removeListener(number) }
  }

  /// Begins to follow the list.
  func start() {
    let number = tier.onPurges { [weak self] list, older in await self?.apply(list, older) }
    listener.withLock { $0 = number }
    let running = Task { [weak self] in
      // The list may be known already, where clients share a tier.
      if let list = self?.tier.purgeList { await self?.apply(list, PurgeList()) }
      while !Task.isCancelled {
        await self?.refresh()
        await self?.repeatFailed()
        try? await Task.sleep(for: Self.interval)
      }
    }
    task.withLock { $0 = running }
  }

  /// Reads the list. If no server answers, it is read again at the next interval.
  private func refresh() async {
    try? await tier.refreshPurges(within: 4_000_000_000)
  }

  /// Applies the purges again if some could not be applied.
  func repeatFailed() async {
    guard progress.withLock({ $0.failures }) > 0 else { return }
    await apply(tier.purgeList, PurgeList())
  }

  /// Removes what newer purges cover.
  func apply(_ list: PurgeList, _ older: PurgeList) async {
    let scopes = list.changes(since: older)
    guard !scopes.isEmpty else { return }
    let name = Self.name(tier)
    let isFirst = older.isEmpty
    let before = progress.withLock { progress in
      progress.running += 1
      progress.newest = max(progress.newest, list.newest)
      return progress.failures
    }
    await store.perform { [self] store in
      let known = isFirst ? Self.number(name, in: store) : 0
      let applied = known ?? 0
      var areRemoved = true
      func attempt(_ step: () throws(StoreError) -> Void) {
        do throws(StoreError) { try step() } catch {
          // From a store that this process may not change, it could never remove them.
          if error.code != .readOnly { areRemoved = false }
        }
      }
      if known == nil {
        attempt { () throws(StoreError) in try removeOlder(than: list, store) }
      } else {
        for scope in scopes where list.numbers[scope] ?? 0 > applied {
          attempt { () throws(StoreError) in try remove(scope, store) }
        }
      }
      // The number says that all older purges are applied, so it waits for those that failed, and for
      // other calls: two servers may give their lists at once, and this process may be killed.
      let newest = progress.withLock { progress -> UInt64? in
        progress.running -= 1
        if !areRemoved {
          progress.failures += 1
        } else if isFirst, progress.failures == before {
          progress.failures = 0
        }
        return progress.failures == 0 && progress.running == 0 ? progress.newest : nil
      }
      guard let newest else { return }
      let text = Array("\(max(newest, applied))".utf8)
      guard (try? store.put(text, for: name)) != nil else { return }
      _ = try? store.pin(name)
    }
  }

  /// Returns the number of the last purge that was applied to a store.
  static func appliedNumber(_ tier: RemoteCache, in store: Store) -> UInt64 {
    number(name(tier), in: store) ?? 0
  }

  /// The key of the entry that has the number. Other servers have other numbers.
  private static func name(_ tier: RemoteCache) -> ByteString {
    "offlinecache remote purges \(tier.options.namespace) \(tier.options.identity)"
  }

  private static func number(_ name: ByteString, in store: Store) -> UInt64? {
    guard case .hit(let entry) = store.lookUp(name) else { return nil }
    return UInt64(String(decoding: entry.body, as: UTF8.self))
  }

  /// Removes what was stored before a purge that covers it. The store has no number of these servers: it
  /// is new, or their URLs are. What was stored later must stay, so the times decide.
  private func removeOlder(than list: PurgeList, _ store: Store) throws(StoreError) {
    flights.endAll()
    permits.revokeAll()
    cache.removeAllFromMemory()
    for info in store.entries() where info.key.hasPrefix("GET ") || info.key.hasPrefix("HEAD ") {
      // The numbers of purges are at least the microseconds since 1970.
      let stored = info.created.nanoseconds / 1_000 - Int64(RemoteCache.clockTolerance * 1e6)
      if list.covers(info.key, tags: info.tags, generation: UInt64(max(0, stored))) {
        try store.remove(info.key, variant: info.variant)
      }
    }
  }

  private func remove(_ scope: PurgeList.Scope, _ store: Store) throws(StoreError) {
    // Responses that are being received must not be stored any more.
    if case .key(let key) = scope {
      flights.end(key)
      permits.revoke(key)
      cache.removeFromMemory(key)
      try store.remove(key)
      return
    }
    flights.endAll()
    permits.revokeAll()
    cache.removeAllFromMemory()
    switch scope {
    case .key: break
    case .prefix(let prefix): try store.remove(prefix: prefix)
    case .tag(let tag): try store.remove(tag: tag)
    case .everything:
      // Entries of programs without HTTP are not part of the tier.
      for prefix in ["GET ", "HEAD "] as [ByteString] { try store.remove(prefix: prefix) }
    }
  }
}
