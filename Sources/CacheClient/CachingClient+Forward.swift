import CacheSystem

// Requests to the origin.
extension CachingClient {
  func forward(
    _ forwarding: Forwarding, _ body: RequestBody?, _ options: FetchOptions
  ) async throws(ClientError) -> ClientResponse {
    let onInterim = options.onInterim ?? { _ in }
    let sending = options.transport ?? self.options.transport
    let isShareable =
      forwarding.isShareable
      && !unsharedKeys.contains(forwarding.key, forwarding.selection, now: now)
    let logOuts = options.logOuts ?? logOutCount
    if isShareable, let (flight, asker) = flights.join(forwarding, sending) {
      if asker == .first { carry(out: forwarding, flight, logOuts, onInterim) }
      defer { flight.leave() }
      guard let outcome = await flight.outcome.value() else {
        throw ClientError(.cancelled, url: forwarding.request.url.string)
      }
      if let response = try response(to: forwarding, outcome, asker) { return response }
      // The caller for whom it was sent has left, or the user has.
    }
    let outcome = await originFetcher.run(
      forwarding, body: body, options: sending, logOuts: logOuts, onInterim: onInterim)
    note(outcome, forwarding)
    let response = try response(to: forwarding, outcome, .first)
    // The body has its reader now.
    if let body = outcome.running { Task { await body.run() } }
    guard let response else {
      throw ClientError(.cancelled, url: forwarding.request.url.string)
    }
    return response
  }

  /// Sends a request to the origin for all callers that wait.
  private func carry(
    out forwarding: Forwarding, _ flight: Flight, _ logOuts: Int,
    _ onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) {
    flight.carry(
      Task { [self] in
        let outcome = await originFetcher.run(
          forwarding, body: nil, options: flight.sending, logOuts: logOuts,
          onInterim: onInterim, onHead: flight.takeHead)
        note(outcome, forwarding)
        if case .shared(_, let body) = outcome {
          flight.settle(outcome)
          // A caller that has the whole answer may ask again at once, and must not get this one.
          await body.run { flights.end(forwarding.key, flight) }
        } else {
          flights.end(forwarding.key, flight)
          flight.settle(outcome)
          await outcome.running?.run()
        }
      })
  }

  /// Validates a stale response while it is served.
  ///
  /// - Parameter options: those of the request for which it is served.
  func validateInBackground(_ forwarding: Forwarding, _ options: FetchOptions) {
    var sending = FetchOptions(transport: options.transport)
    sending.logOuts = options.logOuts ?? logOutCount
    // The credential is released with the response that is served now, but the validation comes
    // later.
    let session = authenticator.session
    let credential = AuthenticatingTransport.name(in: forwarding.request)
      .flatMap { session.credential(named: $0) }
    if let credential { session.retain(credential) }
    let isStarted = background.run(forwarding.key) { [self, sending] in
      defer { if let credential { session.release(credential) } }
      let response = try? await forward(forwarding, nil, sending)
      guard let response, case .network = response.source else { return }
      // What is not kept is for nobody.
      repeat {
        if !response.body.isKept { return response.body.cancel() }
      } while (try? await response.body.next())?.isEmpty == false
    }
    if !isStarted, let credential { session.release(credential) }
  }

  /// Records whether later requests for the same key have to wait for one another.
  private func note(_ outcome: Outcome, _ forwarding: Forwarding) {
    guard forwarding.isShareable else { return }
    let now = now
    let isShareable: Bool
    switch outcome {
    case .direct, .remembered: isShareable = false
    case .shared(_, let body): isShareable = cache.isShareable(body.plan, now: now)
    case .stored(let serving, status: 304): isShareable = cache.isShareable(serving, now: now)
    case .stored, .failed: return
    }
    unsharedKeys.note(forwarding.key, forwarding.selection, isShareable: isShareable, now: now)
  }
}
