import CacheFormat
import CacheStore
import HTTPCaching
import HTTPSemantics
import HTTPTransports
import RemoteTier

// The tier, between what is stored here and the origin.
extension CachingClient {
  /// Asks the tier for the answer to a request.
  ///
  /// - Returns: the decision with what is stored now. It is to serve the answer if the tier had one
  ///   that is fresh, or else to forward the request, with what was found as the remark.
  func askTier(
    _ forwarding: Forwarding, _ decide: @escaping @Sendable () -> Decision
  ) async -> (decision: Decision, isHit: Bool) {
    var remark: RemoteReason?
    var latest = forwarding
    // A look-up for another request may have found what this one does not select.
    for _ in 0..<2 {
      guard let lookUps = remoteLookUps, latest.mayAskOthers else { break }
      let (reason, isOwn) = await lookUps.find(latest, decide)
      remark = reason
      if reason == nil || !isOwn {
        switch await asyncStore.perform({ _ in decide() }) {
        case .serve(let serving): return (.serve(serving), reason == nil)
        case .refuse(let reason): return (.refuse(reason), false)
        case .forward(let next): latest = next
        }
      }
      if isOwn { break }
    }
    latest.remark = remark?.rawValue ?? "remote-stale"
    return (.forward(latest), false)
  }

  /// Asks the tier where the origin must not be asked (``ClientOptions/asksRemoteOffline``).
  ///
  /// - Returns: `nil` if the tier has no answer either.
  func askTierOffline(
    _ request: HTTPRequest, _ options: FetchOptions,
    _ decide: @escaping @Sendable () -> Decision
  ) async -> Serving? {
    guard self.options.asksRemoteOffline, let lookUps = remoteLookUps,
      !RequestDirectives(request.fields).onlyIfCached
    else { return nil }
    let now = now
    let asked = await asyncStore.perform { [cache] _ in
      cache.decide(request, policy: .storedElseLoad, lifetime: options.lifetime, now: now)
    }
    guard case .forward(let forwarding) = asked, forwarding.mayAskOthers,
      await lookUps.find(forwarding, decide).reason == nil,
      case .serve(let serving) = await asyncStore.perform({ _ in decide() })
    else { return nil }
    return serving
  }

  /// Offers stored entries to the tier, those that machines may share.
  ///
  /// - Parameter prefix: The beginning of their keys.
  /// - Returns: the number of entries that are offered, and of those that must not be shared.
  package func offerStored(
    prefix: ByteString
  ) async throws(RemoteReason) -> (offered: Int, refused: Int) {
    guard let offers = remoteOffers else { return (0, 0) }
    // What was purged is removed first.
    try await offers.tier.refreshPurges()
    let (seen, entries) = await asyncStore.perform { store in
      // A store that cannot be written has kept what was purged.
      (
        RemotePurges.appliedNumber(offers.tier, in: store),
        store.entries().filter { $0.key.hasPrefix(prefix) && $0.status != nil }
      )
    }
    var result = (offered: 0, refused: 0)
    for info in entries {
      if offers.offer(info, seen: seen) { result.offered += 1 } else { result.refused += 1 }
      // Not so many at once that some would be dropped.
      if result.offered % 100 == 99 { await offers.tier.drain() }
    }
    await offers.tier.drain()
    return result
  }
}
