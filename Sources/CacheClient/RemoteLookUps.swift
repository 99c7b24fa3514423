import CacheSystem

/// Looks responses up in the tier, and stores them as if they had come from the origin.
///
/// Requests for one key share a look-up. It runs in a task of its own, which the time limits of the
/// tier end: a caller that leaves does not end it for the others.
final class RemoteLookUps: Sendable {
  /// The end of a look-up: the reason why it found nothing, or the decision with what it has stored.
  typealias Result = Swift.Result<Decision, RemoteReason>

  let tier: RemoteCache
  private let cache: ResponseCache
  private let store: AsyncStore
  private let permits: StoringPermits
  private let clock: any WallClock
  private let running = Lock<[ByteString: Promise<Result>]>([:])

  init(
    _ tier: RemoteCache, _ cache: ResponseCache, _ store: AsyncStore, _ permits: StoringPermits,
    _ clock: any WallClock
  ) {
    self.tier = tier
    self.cache = cache
    self.store = store
    self.permits = permits
    self.clock = clock
  }

  /// Looks the answer to a request up.
  ///
  /// - Parameter maker: Decides with what is stored now: another look-up may just have ended.
  /// - Returns: the end of the look-up, and whether it was made for this request. If it was not, the
  ///   decision is that of another one.
  func find(
    _ forwarding: Forwarding, _ maker: DecisionMaker
  ) async -> (result: Result, isOwn: Bool) {
    let (promise, isOwn) = running.withLock { running -> (Promise<Result>, Bool) in
      if let promise = running[forwarding.key] { return (promise, false) }
      let promise = Promise<Result>()
      running[forwarding.key] = promise
      return (promise, true)
    }
    if isOwn {
      store.start { [self] in
        let result = await result(forwarding, maker)
        _ = running.withLock { $0.removeValue(forKey: forwarding.key) }
        promise.settle(result)
      }
    }
    guard let result = await promise.value() else { return (.failure(.cancelled), isOwn) }
    return (result, isOwn)
  }

  /// Fetches a response and stores it, unless one is stored now.
  private func result(
    _ forwarding: Forwarding, _ maker: DecisionMaker
  ) async -> Result {
    let decision = await maker.decision()
    if case .serve = decision { return .success(decision) }
    let permit = permits.make(forwarding.key)
    do throws(RemoteReason) {
      let found = try await tier.lookUp(forwarding.key) { [self] in choose($0, forwarding) }
      guard let plan = plan(found.response, forwarding) else { throw .noVariant }
      return .success(
        try await store(found, plan.with(sha256: found.response.bodyDigest), permit, maker))
    } catch {
      return .failure(error)
    }
  }

  /// The longest body that is fetched for a `HEAD` or a range.
  private static let partLimit: UInt64 = 1 << 20

  /// Returns the index of the newest response that the request selects.
  private func choose(
    _ responses: [SharedResponse], _ forwarding: Forwarding
  ) -> Swift.Result<Int, RemoteReason> {
    let latest = Timestamp(nanoseconds: clock.now()).advanced(
      bySeconds: RemoteCache.clockTolerance)
    var reason = RemoteReason.noVariant
    var best: (index: Int, date: HTTPDate)?
    for (index, response) in responses.enumerated() {
      guard let plan = plan(response, forwarding) else { continue }
      // Whether it is fresh by the clock of the other machine is unknown.
      guard response.form.received <= latest else {
        reason = .clock
        continue
      }
      guard forwarding.needsWhole || response.length <= Self.partLimit else {
        reason = .tooLarge
        continue
      }
      let date = plan.response.facts.date ?? plan.response.responseTime
      if best.map({ $0.date < date }) ?? true { best = (index, date) }
    }
    return best.map { .success($0.index) } ?? .failure(reason)
  }

  private func plan(_ response: SharedResponse, _ forwarding: Forwarding) -> StoringPlan? {
    cache.adopting(response.form, for: forwarding, now: Timestamp(nanoseconds: clock.now()))
  }

  /// Stores a response once its whole body has been received and verified, and decides with it.
  /// Runs on a thread of the store.
  private func store(
    _ found: RemoteFinding, _ plan: StoringPlan, _ permit: StoringPermit,
    _ maker: DecisionMaker
  ) async throws(RemoteReason) -> Decision {
    let isLong = found.response.length > UInt64(ResponseCache.smallBody)
    let writer = isLong ? try makeWriter(found, plan) : nil
    var bytes: [UInt8] = []
    do throws(RemoteReason) {
      while let piece = try await found.body.next() {
        if let writer {
          try perform { () throws(StoreError) in try writer.write(piece) }
        } else if bytes.isEmpty {
          bytes = piece
        } else {
          bytes += piece
        }
      }
    } catch {
      writer?.discard()
      throw error
    }
    let stored = try perform { () throws(StoreError) in
      try permit.store(plan, cache, now: Timestamp(nanoseconds: clock.now())) {
        () throws(StoreError) in
        if let writer { try writer.commit() } else { try plan.store(bytes, in: store.store) }
      }
    }
    if case .failure(let reason) = stored {
      writer?.discard()
      guard reason == .superseded else { throw .notStored }
    }
    return maker.decide()
  }

  private func makeWriter(
    _ found: RemoteFinding, _ plan: StoringPlan
  ) throws(RemoteReason) -> BodyWriter {
    do throws(StoreError) {
      return try store.store.makeWriter(
        for: plan.key, variant: plan.variant, metadata: plan.metadata,
        length: found.response.length)
    } catch {
      found.body.cancel()
      throw .notStored
    }
  }

  private func perform<R>(_ work: () throws(StoreError) -> R) throws(RemoteReason) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      throw .notStored
    }
  }
}
