public import CacheSystem

/// Answers HTTP requests from a store and from the network, by the rules of RFC 9111.
///
/// Equal requests at the same time share one request to the origin. A response that may be stored
/// is stored while it is read, as it was received; content codings are removed for callers who want
/// that. Many tasks may use a client at the same time.
public final class CachingClient: Sendable {
  /// The store.
  public let store: Store
  /// The options.
  public let options: ClientOptions

  let cache: ResponseCache
  /// The store, with threads of its own for calls that block on the disk.
  let asyncStore: AsyncStore
  let clock: any WallClock
  let flights = Flights()
  let permits = StoringPermits()
  let unsharedKeys = UnsharedKeys()
  let background: Background
  let originFetcher: OriginFetcher
  let authenticator: Authenticator
  let logOuts = LogOuts()
  let remoteLookUps: RemoteLookUps?
  let remoteOffers: RemoteOffers?
  let remotePurges: RemotePurges?

  /// Creates a client on a store and a transport, which may be shared with others.
  public init(
    store: Store, transport: any HTTPTransport, options: ClientOptions = ClientOptions(),
    clock: any WallClock = SystemClock()
  ) {
    var options = options
    if transport.isForOneUser { options.remote = nil }
    self.store = store
    self.options = options
    self.clock = clock
    asyncStore = AsyncStore(store)
    cache = ResponseCache(
      store: store, rules: options.rules, keyRule: options.keyRule,
      fingerprintKey: options.fingerprintKey, hotBytes: options.hotBytes,
      memoryOnlyBytes: options.memoryOnlyBytes,
      mayReturnStored: options.mayReturnStored)
    background = Background(limit: options.maximumBackgroundFetches)
    authenticator = Authenticator(
      provider: options.credentials, vault: options.credentialVault)
    let (cache, store, permits, flights) = (cache, asyncStore, permits, flights)
    remoteLookUps = options.remote.map { RemoteLookUps($0, cache, store, permits, clock) }
    remoteOffers = options.remote.map { RemoteOffers($0, cache, store) }
    remotePurges = options.remote.map { RemotePurges($0, cache, store.store, permits, flights) }
    originFetcher = OriginFetcher(
      cache: cache, store: asyncStore,
      transport: AuthenticatingTransport(
        transport: transport, session: authenticator.session), clock: clock,
      permits: permits, flights: flights, logOuts: logOuts, offers: remoteOffers)
    remotePurges?.start()
  }

  /// Answers a request from the store or the network, as soon as the head is there.
  ///
  /// Redirects are followed if the request has no body, or one that can be sent again; each step
  /// goes through the store. Only fields that are known to be harmless are sent to another origin.
  /// From `https` to `http`, only redirects that `TransportOptions.allowsInsecureRedirects` allows, for
  /// the client or for the request, are followed. After a 401, the provider of the options is called, up to three times; then the
  /// 401 is the answer.
  ///
  /// - Throws: ``ClientError``; ``ClientError/Cause/notStored(_:)`` has the reason why the store
  ///   has no answer, if the network must not be used.
  public func fetch(
    _ request: HTTPRequest, body: RequestBody? = nil, options: FetchOptions = FetchOptions()
  ) async throws(ClientError) -> ClientResponse {
    let asked = request.url
    var request = request
    var body = body
    var options = options
    options.logOuts = options.logOuts ?? logOutCount
    var login = Login(
      options.credential, for: asked, mayAsk: options.policy.allowsNetwork)
    for _ in 0...max(0, options.maximumRedirects) {
      let offered = ContentDecoding.offer(request, options)
      let again = body.repeated
      let response = try await authenticated(offered, body, options, login: &login)
      guard options.maximumRedirects > 0,
        let next = try next(after: response, to: request, body, again, options)
      else { return decoded(response, asked: request, options) }
      await response.body.drain(upTo: ResponseCache.smallBody)
      (request, body) = next
    }
    throw ClientError(
      .tooManyRedirects(maximum: options.maximumRedirects), url: asked.string)
  }

  /// Answers from the store alone, at once; `nil` if the network is needed, or if the answer is not
  /// available without waiting.
  ///
  /// Blocks on the disk for a few microseconds; the first time for a body of 64 KiB to 16 MiB, until all
  /// of it is verified. `nil` also for a stored 401 if the network is allowed or there is a vault, because
  /// `fetch` may find a credential. Starts the validation of a stale response in the background where
  /// that is allowed.
  public func storedAnswer(
    to request: HTTPRequest, options: FetchOptions = FetchOptions()
  ) -> ClientResponse? {
    var request = request
    let login = Login(options.credential, for: request.url)
    for _ in 0...max(0, options.maximumRedirects) {
      var offered = ContentDecoding.offer(request, options)
      let credential =
        request.fields.contains("Authorization")
        ? nil : login.credential(for: request.url, authenticator.session)
      if let credential {
        // A validation in the background needs it.
        authenticator.session.retain(credential)
        offered = AuthenticatingTransport.naming(credential, in: offered)
      }
      defer { if let credential { authenticator.session.release(credential) } }
      if let substitute = substitute(for: offered, options.policy) {
        return decoded(substitute, asked: request, options)
      }
      let decision = cache.decide(
        offered, policy: options.policy, lifetime: options.lifetime, now: now)
      guard case .serve(let serving) = decision,
        options.validatesAtOnce || serving.revalidation == nil,
        !mayLogIn(serving.head, request, options)
      else { return nil }
      let response = served(serving, offered, options)
      var next: (HTTPRequest, RequestBody?)?
      if options.maximumRedirects > 0 {
        do throws(ClientError) {
          next = try self.next(after: response, to: request, nil, nil, options)
        } catch {
          // `fetch` reports the error.
          return nil
        }
      }
      guard let next else { return decoded(response, asked: request, options) }
      request = next.0
    }
    return nil
  }

  /// Returns whether `fetch` looks for a credential after a stored 401.
  private func mayLogIn(
    _ head: HTTPResponseHead, _ request: HTTPRequest, _ options: FetchOptions
  ) -> Bool {
    head.status == 401 && !request.fields.contains("Authorization")
      && (options.policy.allowsNetwork || self.options.credentialVault != nil)
  }

  private func decoded(
    _ response: ClientResponse, asked request: HTTPRequest, _ options: FetchOptions
  ) -> ClientResponse {
    var response = response
    response.request.fields = request.fields
    if !options.decodesContent { return response }
    // The server has sent a damaged one so. The next request fetches it again.
    return ContentDecoding.decode(response, asked: request, options, remove: cache.removeIfSame)
  }

  /// Returns the request after a redirect; `nil` if the response is not a redirect to follow.
  private func next(
    after response: ClientResponse, to request: HTTPRequest, _ body: RequestBody?,
    _ again: RepeatedBody?, _ options: FetchOptions
  ) throws(ClientError) -> (HTTPRequest, RequestBody?)? {
    let isAllowed =
      self.options.transport.allowsInsecureRedirects
      || options.transport?.allowsInsecureRedirects ?? false
    do throws(TransportError) {
      return try Redirection.next(
        after: response.head, to: request, body, again, allowsInsecure: isAllowed)
    } catch {
      response.body.cancel()
      throw ClientError(.transport(error), url: error.url)
    }
  }

  /// Waits until no response is validated in the background any more, and none is being offered to
  /// the tier.
  public func waitForBackground() async {
    await background.waitUntilIdle()
    await options.remote?.drain()
  }

  var now: Timestamp { Timestamp(nanoseconds: clock.now()) }

  func answer(
    _ request: HTTPRequest, _ body: RequestBody?, _ options: FetchOptions
  ) async throws(ClientError) -> ClientResponse {
    if let substitute = await substitute(for: request, body, options) { return substitute }
    var maker = DecisionMaker(
      cache: cache, store: asyncStore, request: request, hasBody: body.hasContent,
      policy: options.policy, lifetime: options.lifetime, now: now,
      readsAtOnce: options.decidesAtOnce)
    var decision = await maker.decision()
    do throws(ClientError) {
      if mayUseVault(decision, options.policy) { try await useVault(&maker, &decision) }
      switch decision {
      case .refuse(let reason):
        if let serving = await askTierOffline(maker) {
          return served(serving, maker.request, options, detail: "remote-hit")
        }
        throw ClientError(.notStored(reason), url: request.url.string)
      case .serve(let serving): return served(serving, maker.request, options)
      case .forward(let forwarding):
        guard remoteLookUps != nil, forwarding.mayAskOthers else {
          return try await forward(forwarding, body, options)
        }
        switch await askTier(forwarding, maker) {
        case (.serve(let serving), let isHit):
          return served(serving, request, options, detail: isHit ? "remote-hit" : nil)
        case (.refuse(let reason), _):
          throw ClientError(.notStored(reason), url: request.url.string)
        case (.forward(let next), _): return try await forward(next, body, options)
        }
      }
    } catch {
      guard !error.isCancellation, !error.isPinMismatch,
        let substitute = await substitute(for: request, body, options, isLastResort: true)
      else { throw error }
      return substitute
    }
  }

  /// Looks for a substitute, outside of the cooperative pool.
  private func substitute(
    for request: HTTPRequest, _ body: RequestBody?, _ options: FetchOptions,
    isLastResort: Bool = false
  ) async -> ClientResponse? {
    guard self.options.substitutes != nil else { return nil }
    return await asyncStore.perform { [self] _ in
      substitute(
        for: request, hasBody: body.hasContent, options.policy, isLastResort: isLastResort)
    }
  }
}
