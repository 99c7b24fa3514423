import CacheStore
import HTTPCaching
import HTTPSemantics
import HTTPTransport

// The way to the origin.
extension CachingClient {
  func forward(
    _ forwarding: Forwarding, _ body: RequestBody?, _ options: FetchOptions
  ) async throws(ClientError) -> ClientResponse {
    let onInterim = options.onInterim ?? { _ in }
    let sending = options.transport ?? self.options.transport
    if forwarding.isShareable, let (flight, isFirst) = flights.join(forwarding.key, sending) {
      if isFirst { carry(out: forwarding, flight, onInterim) }
      defer { flight.leave() }
      guard let outcome = await flight.outcome.value() else { throw cancelled(forwarding) }
      if let response = try response(to: forwarding, outcome, isFirst: isFirst) {
        return response
      }
    }
    let outcome = await exchange.run(
      forwarding, body: body, options: sending, onInterim: onInterim)
    await invalidate(forwarding.original, outcome)
    let response = try response(to: forwarding, outcome, isFirst: true)
    // The body has its reader now.
    if case .shared(_, let body) = outcome { Task { await body.run() } }
    guard let response else { throw cancelled(forwarding) }
    return response
  }

  /// Asks the origin for all who wait.
  private func carry(
    out forwarding: Forwarding, _ flight: Flight,
    _ onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) {
    flight.carry(
      Task { [exchange, flights] in
        let outcome = await exchange.run(
          forwarding, body: nil, options: flight.sending, onInterim: onInterim)
        if case .shared(_, let body) = outcome {
          flight.settle(outcome)
          await body.run()
          flights.end(forwarding.key, flight)
        } else {
          flights.end(forwarding.key, flight)
          flight.settle(outcome)
        }
      })
  }

  /// Validates a stale response while it is served.
  func validateInBackground(_ forwarding: Forwarding) {
    // The credential goes with the answer that is served now, but the validation comes later.
    let session = authenticator.session
    let credential = AuthenticatingTransport.name(in: forwarding.request)
      .flatMap { session.credential(named: $0) }
    if let credential { session.retain(credential) }
    let isStarted = background.run(forwarding.key) { [self] in
      defer { if let credential { session.release(credential) } }
      let response = try? await forward(forwarding, nil, FetchOptions())
      guard let response, case .network = response.source else { return }
      while let piece = try? await response.body.next(), !piece.isEmpty {}
    }
    if !isStarted, let credential { session.release(credential) }
  }

  /// Keeps answers that are under way from being stored after an unsafe request has changed what
  /// they tell. One that was stored after the cache removed what there was, and before its permit
  /// could be revoked, goes now.
  private func invalidate(_ request: HTTPRequest, _ outcome: Outcome) async {
    guard case .direct(let head, _, _) = outcome else { return }
    for key in cache.invalidated(by: request, head) {
      flights.end(key)
      permits.revoke(key)
      _ = try? await asyncStore.remove(key)
    }
  }

  private func cancelled(_ forwarding: Forwarding) -> ClientError {
    let url = forwarding.request.url.string
    return ClientError(.transport(TransportError(.cancelled, url: url)), url: url)
  }
}
