import CacheStore
import HTTPCaching
import Synchronization

/// The permission to store the answer of one request to the origin. An unsafe request that changes
/// the resource revokes it (RFC 9111, section 4.4).
package final class StoringPermit: Sendable {
  private let key: ByteString
  private let generation: UInt64
  private let permits: StoringPermits

  fileprivate init(_ key: ByteString, _ generation: UInt64, _ permits: StoringPermits) {
    self.key = key
    self.generation = generation
    self.permits = permits
  }

  deinit { permits.end(key) }

  var isValid: Bool { permits.generation(of: key) == generation }

  /// Stores a response, unless something invalidates it meanwhile, or one that was received later is
  /// stored.
  ///
  /// - Parameter put: Puts it into the store; is not called if it must not be stored.
  func store(
    _ plan: StoringPlan, _ cache: ResponseCache, now: Timestamp,
    _ put: () throws(StoreError) -> EntryInfo
  ) throws(StoreError) -> Result<EntryInfo, NotStored> {
    guard beginStoring() else { return .failure(.invalidated) }
    defer { endStoring() }
    if plan.isSuperseded(in: cache.store, now: now) { return .failure(.superseded) }
    let info = try put()
    cache.removeFromMemory(replacedBy: info, now: now)
    guard isValid else {
      cache.removeIfSame(info)
      return .failure(.invalidated)
    }
    return .success(info)
  }

  /// Begins to store, unless the permit was revoked; ``endStoring()`` must follow.
  func beginStoring() -> Bool { permits.beginStoring(key, generation) }

  func endStoring() { permits.endStoring(key) }
}

/// The keys with requests to the origin.
final class StoringPermits: Sendable {
  private struct Open {
    var count = 0
    var generation: UInt64 = 0
    var storing = 0
    /// The callers that wait until none is being stored.
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let open = Mutex<[ByteString: Open]>([:])

  /// Makes a permit, before the request is sent.
  ///
  /// - Parameter revokesOthers: whether all other permits for the key are revoked, atomically.
  func make(_ key: ByteString, revokesOthers: Bool = false) -> StoringPermit {
    let generation = open.withLock { open in
      open[key, default: Open()].count += 1
      if revokesOthers { open[key]?.generation += 1 }
      return open[key, default: Open()].generation
    }
    return StoringPermit(key, generation, self)
  }

  func revoke(_ key: ByteString) {
    open.withLock { $0[key]?.generation += 1 }
  }

  /// Revokes all permits for a key, and waits until responses that are being stored with one are
  /// stored. Then they can be removed, and no look-up finds them later.
  func revokeAndWait(_ key: ByteString) async {
    await withCheckedContinuation { continuation in
      let isNow = open.withLock { open in
        open[key]?.generation += 1
        guard let storing = open[key]?.storing, storing > 0 else { return true }
        open[key]?.waiters.append(continuation)
        return false
      }
      if isNow { continuation.resume() }
    }
  }

  /// Does for all keys what ``revokeAndWait(_:)`` does for one.
  func revokeAllAndWait() async {
    for key in open.withLock({ Array($0.keys) }) { await revokeAndWait(key) }
  }

  fileprivate func beginStoring(_ key: ByteString, _ generation: UInt64) -> Bool {
    open.withLock { open in
      guard open[key]?.generation == generation else { return false }
      open[key]?.storing += 1
      return true
    }
  }

  fileprivate func endStoring(_ key: ByteString) {
    let waiters = open.withLock { open -> [CheckedContinuation<Void, Never>] in
      open[key]?.storing -= 1
      guard let all = open[key]?.waiters, open[key]?.storing == 0 else { return [] }
      open[key]?.waiters = []
      return all
    }
    for waiter in waiters { waiter.resume() }
  }

  func revokeAll(where isMeant: (ByteString) -> Bool = { _ in true }) {
    open.withLock { open in
      for key in open.keys where isMeant(key) { open[key]?.generation += 1 }
    }
  }

  fileprivate func generation(of key: ByteString) -> UInt64? {
    open.withLock { $0[key]?.generation }
  }

  fileprivate func end(_ key: ByteString) {
    open.withLock { open in
      open[key]?.count -= 1
      if open[key]?.count == 0 { open[key] = nil }
    }
  }
}
