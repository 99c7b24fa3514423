import CacheSystem

enum Outcome: Sendable {
  /// No response was received.
  case failed(TransportError)
  /// A stored response is the answer: a 304 has confirmed it, or it is served stale after an error.
  case stored(Serving, status: Int)
  /// The origin's response, for one reader.
  case direct(HTTPResponseHead, any TransportBody, NotStored)
  /// The origin's response, which is stored while it is read.
  case shared(HTTPResponseHead, SharedBody)
  /// The origin's response, for one reader, which is kept in the history while it is read.
  case remembered(HTTPResponseHead, SharedBody, NotStored)
}

extension Outcome {
  /// The body that has to be moved from the network to its readers.
  var running: SharedBody? {
    switch self {
    case .shared(_, let body), .remembered(_, let body, _): body
    case .failed, .stored, .direct: nil
    }
  }
}

/// Sends requests to the origin, and applies the rules to its responses.
struct OriginFetcher: Sendable {
  let cache: ResponseCache
  let store: AsyncStore
  let transport: any HTTPTransport
  let clock: any WallClock
  let permits: StoringPermits
  let flights: Flights
  let logOuts: LogOuts
  let offers: RemoteOffers?

  /// Sends a request to the origin; a second time if a 304 confirms a response that is not stored.
  ///
  /// - Parameters:
  ///   - logOuts: The number of log-outs after which nothing is sent any more.
  ///   - onHead: Called when the origin has answered, before the rules are applied.
  func run(
    _ forwarding: Forwarding, body: RequestBody?, options: TransportOptions, logOuts: Int,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void,
    onHead: @Sendable () -> Void = {}
  ) async -> Outcome {
    var forwarding = forwarding
    let permit = permits.make(forwarding.key)
    // Responses that are purged after this must not be offered.
    let seen = offers?.tier.purgeNumber ?? 0
    while true {
      // After the permit was made: a log-out revokes those that are there.
      guard logOuts == self.logOuts.count else { return cancelled(forwarding) }
      let sent = Timestamp(nanoseconds: clock.now())
      let answer: TransportResponse
      do {
        answer = try await transport.send(
          forwarding.request, body: body, options: options, onInterim: onInterim)
      } catch {
        return .failed(error)
      }
      // It may have been sent without the credential that a log-out has removed.
      guard logOuts == self.logOuts.count else {
        answer.body.cancel()
        let now = Timestamp(nanoseconds: clock.now())
        _ = await invalidate(forwarding.original, answer.head, at: now)
        return cancelled(forwarding)
      }
      onHead()
      if answer.head.status == 304, !forwarding.request.hasCondition, !forwarding.isForRest {
        return .failed(
          TransportError(
            .protocolViolation, url: forwarding.request.url.string,
            detail: "a 304 to a request without a condition"))
      }
      let times = ResponseTimes(request: sent, response: Timestamp(nanoseconds: clock.now()))
      let receipt = await judge(answer.head, forwarding, times, permit)
      // The body of a response that is not returned is read to its end if that is near, so that the
      // connection can be reused.
      if case .pass = receipt {} else { await answer.body.end(within: ResponseCache.smallBody) }
      switch receipt {
      case .again(let next): forwarding = next
      case .validated(let serving):
        if serving.isForAll { offers?.offer(serving.variant.info, seen: seen) }
        return .stored(serving, status: 304)
      case .stale(let serving, let status): return .stored(serving, status: status)
      case .pass(let head, let storing):
        return await pass(
          head, answer.body, storing: storing, forwarding: forwarding, permit: permit, seen: seen,
          received: times.response)
      }
    }
  }

  private func cancelled(_ forwarding: Forwarding) -> Outcome {
    .failed(TransportError(.cancelled, url: forwarding.request.url.string))
  }

  private func pass(
    _ head: HTTPResponseHead, _ body: any TransportBody, storing: Storing,
    forwarding: Forwarding, permit: StoringPermit, seen: UInt64, received: Timestamp
  ) async -> Outcome {
    let isUnsafe = await invalidate(forwarding.original, head, at: received)
    let (plan, reason): (StoringPlan, NotStoredReason?)
    switch storing {
    case .no(let reason): return .direct(head, body, .forbidden(reason))
    case .yes(let made): (plan, reason) = (made, nil)
    case .inHistory(let made, let why): (plan, reason) = (made, why)
    }
    // All readers of a shared body that is not stored would have the pace of the slowest.
    if reason == nil, let error = await refusal(of: head.fields.contentLength) {
      return .direct(head, body, .failed(error))
    }
    // The answer to a POST is newer than the responses that the POST has invalidated.
    let permit = isUnsafe ? permits.make(plan.key, revokesOthers: true) : permit
    let shared = SharedBody(
      body, plan: plan, permit: permit, cache: cache, store: store, clock: clock,
      length: head.fields.contentLength, url: forwarding.request.url.string,
      isDigested: reason == nil && offers?.mayOffer(plan) == true
    ) { [offers] in offers?.offer($0, seen: seen) }
    if let reason { return .remembered(head, shared, .forbidden(reason)) }
    return .shared(head, shared)
  }

  /// Prevents running responses from being stored after an unsafe request has changed their
  /// resource. One that was stored after the invalidation, or is being stored, is removed before
  /// the answer to the unsafe request is returned.
  ///
  /// - Returns: whether the request invalidates any key.
  private func invalidate(
    _ request: HTTPRequest, _ head: HTTPResponseHead, at time: Timestamp
  ) async -> Bool {
    let keys = cache.invalidated(by: request, head)
    // A look-up in the tier that begins later than this finds nothing; an earlier one stores nothing.
    for key in keys { offers?.tier.block(key) }
    for key in keys {
      flights.end(key)
      await permits.revokeAndWait(key)
      await store.perform { [cache] _ in cache.invalidate(key, at: time) }
      offers?.tier.invalidate(key)
    }
    return !keys.isEmpty
  }

  /// Returns the reason why the store cannot take a body of this length.
  private func refusal(of length: UInt64?) async -> StoreError? {
    guard let length, length > UInt64(ResponseCache.smallBody) else { return nil }
    do throws(StoreError) {
      try await store.perform { store throws(StoreError) in try store.checkBodyLength(length) }
      return nil
    } catch {
      return error
    }
  }

  /// Applies the rules, outside of the cooperative pool if that may use the disk: a 304 writes to
  /// the store.
  private func judge(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes,
    _ permit: StoringPermit
  ) async -> Receipt {
    if cache.receivesAtOnce(head, for: forwarding) {
      return cache.receive(head, for: forwarding, times: times)
    }
    return await store.perform { [cache, offers] _ in
      // Other machines must not use it either (RFC 9111, section 4.3.5).
      cache.receive(head, for: forwarding, times: times, isPermitted: { permit.isValid }) {
        offers?.tier.invalidate(forwarding.key)
      }
    }
  }
}
