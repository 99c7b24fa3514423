// The tier: between the local store and the origin.
extension CachingClient {
  /// Looks the response to a request up in the tier.
  ///
  /// - Returns: the new decision. It is to serve the response if the tier had a fresh one,
  ///   otherwise to forward the request, with the result of the look-up as the remark.
  func askTier(
    _ forwarding: Forwarding, _ maker: DecisionMaker
  ) async -> (decision: Decision, isHit: Bool) {
    var remark: RemoteReason?
    var latest = forwarding
    // A look-up for another request may have stored a response that this one does not select.
    for _ in 0..<2 {
      guard let lookUps = remoteLookUps, latest.mayAskOthers else { break }
      // Without a change of threads if there is nothing to wait for.
      remark = lookUps.tier.refusal(of: latest.key)
      if remark != nil { break }
      let (result, isOwn) = await lookUps.find(latest, maker)
      let decision: Decision
      switch result {
      case .success(let made) where isOwn: (remark, decision) = (nil, made)
      case .success: (remark, decision) = (nil, await maker.decision())
      // A request to the origin may have ended while this one asked the tier.
      case .failure(let reason):
        (remark, decision) = (reason, await maker.decision())
      }
      switch decision {
      case .serve(let serving): return (.serve(serving), remark == nil)
      case .refuse(let reason): return (.refuse(reason), false)
      case .forward(let next): latest = next
      }
      if isOwn { break }
    }
    latest.remark = remark?.rawValue ?? "remote-stale"
    return (.forward(latest), false)
  }

  /// Looks a response up in the tier when the origin must not be contacted
  /// (``ClientOptions/asksRemoteOffline``).
  ///
  /// - Returns: `nil` if the tier has no answer either.
  func askTierOffline(_ maker: DecisionMaker) async -> Serving? {
    guard options.asksRemoteOffline, let lookUps = remoteLookUps,
      !RequestDirectives(maker.request.fields).onlyIfCached
    else { return nil }
    var loading = maker
    (loading.hasBody, loading.policy) = (false, .storedElseLoad)
    guard case .forward(let forwarding) = await loading.decision(), forwarding.mayAskOthers,
      case .success = await lookUps.find(forwarding, maker).result,
      case .serve(let serving) = await maker.decision()
    else { return nil }
    return serving
  }

  /// Offers stored entries to the tier, if machines may share them.
  ///
  /// - Parameter prefix: The beginning of their keys.
  /// - Returns: the numbers of offered entries, and of those that must not be shared.
  package func offerStored(
    prefix: ByteString
  ) async throws(RemoteReason) -> (offered: Int, refused: Int) {
    guard let offers = remoteOffers else { return (0, 0) }
    // Purged entries are removed first.
    try await offers.tier.purges.refresh()
    let (seen, entries) = await asyncStore.perform { store in
      // If the store cannot be written, purged entries may still be there.
      (
        RemotePurges.appliedNumber(offers.tier, in: store),
        store.entries().filter { $0.key.hasPrefix(prefix) && $0.status != nil }
      )
    }
    var result = (offered: 0, refused: 0)
    for info in entries {
      if offers.offer(info, seen: seen) { result.offered += 1 } else { result.refused += 1 }
      // At most so many at once that none is dropped.
      if result.offered % 100 == 99 { await offers.tier.drain() }
    }
    await offers.tier.drain()
    return result
  }
}
