import CacheFormat
public import CacheStore
public import CacheSystem
public import HTTPSemantics
public import HTTPTransport

/// Fetches over HTTP and keeps what comes in a store, so that it can be had again without a network.
///
/// First cut: answers to `GET` with the status 200 are stored by method and normal URL, and a
/// stored answer is used until it is replaced. The rules of RFC 9111 come between request and store
/// later; ``FetchPolicy`` is then the caller's wish, not the whole decision. Bodies are stored
/// decoded. `Set-Cookie` and the fields of a connection are not stored. Two fetches of one URL at
/// the same time both ask the server; what ends last stays.
public final class CachingClient: Sendable {
  /// Gives the store.
  public let store: Store

  /// Says how requests are sent; bodies are decoded whatever it says.
  public let options: TransportOptions

  /// Runs what blocks on the disk on threads of its own.
  private let asyncStore: AsyncStore
  private let transport: any HTTPTransport
  private let clock: any WallClock

  /// Makes a client on a store and a transport, which may be shared with others.
  public init(
    store: Store, transport: any HTTPTransport, options: TransportOptions = TransportOptions(),
    clock: any WallClock = SystemClock()
  ) {
    var options = options
    options.rawBody = false
    self.store = store
    asyncStore = AsyncStore(store)
    self.transport = transport
    self.options = options
    self.clock = clock
  }

  /// Fetches a URL with `GET`.
  ///
  /// - Throws: ``ClientError``; see ``fetch(_:policy:)-(HTTPRequest,_)``.
  public func fetch(
    _ url: NormalizedURL, policy: FetchPolicy = .useStored
  ) async throws(ClientError) -> ClientResponse {
    try await fetch(HTTPRequest(url: url), policy: policy)
  }

  /// Answers a request from the store or the network, as soon as the head is there.
  ///
  /// - Throws: ``ClientError`` when there is neither; with ``FetchPolicy/offline`` it tells why the
  ///   store has no answer.
  public func fetch(
    _ request: HTTPRequest, policy: FetchPolicy = .useStored
  ) async throws(ClientError) -> ClientResponse {
    let reason: FetchMissReason
    switch await storedAnswer(request, policy) {
    case .hit(let response): return response
    case .miss(let miss): reason = miss
    }
    guard policy != .offline else {
      throw ClientError(.notStored(reason), url: request.url.string)
    }
    return try await fetchFromNetwork(request, reason)
  }

  /// Decides between store and network; the place where freshness will be asked for.
  private func storedAnswer(
    _ request: HTTPRequest, _ policy: FetchPolicy
  ) async -> StoredBody.Lookup<ClientResponse> {
    if let reason = CachingRules.bypass(request) {
      return .miss(.bypassed(reason))
    }
    guard policy != .refresh else { return .miss(.refresh) }
    switch await StoredBody.find(StoredAnswer.key(of: request), in: asyncStore) {
    case .miss(let reason): return .miss(reason)
    case .hit(let found):
      guard let head = StoredAnswer.head(of: found.info) else {
        return .miss(.notAnAnswer)
      }
      if let reason = CachingRules.mayUse(request, stored: head) {
        return .miss(reason)
      }
      return .hit(response(request, head, found))
    }
  }

  private func response(
    _ request: HTTPRequest, _ head: HTTPResponseHead, _ found: StoredBody
  ) -> ClientResponse {
    ClientResponse(
      request: request, url: StoredAnswer.url(of: found.info, request: request), head: head,
      source: found.source, missReason: nil, entry: found.info,
      times: StoredAnswer.times(of: found.info),
      body: ResponseBody(found.body, url: request.url.string, state: .fromStore))
  }

  /// Fetches, for the reason given, and stores what may be stored.
  func fetchFromNetwork(
    _ request: HTTPRequest, _ reason: FetchMissReason
  ) async throws(ClientError) -> ClientResponse {
    let requestTime = Timestamp(nanoseconds: clock.now())
    let answer: TransportResponse
    do {
      answer = try await transport.send(request, options: options)
    } catch {
      throw ClientError(.transport(error), url: request.url.string)
    }
    let times = ResponseTimes(
      request: requestTime, response: Timestamp(nanoseconds: clock.now()))
    let head = answer.isDecoded ? CachingRules.decoded(answer.head) : answer.head
    return ClientResponse(
      request: request, url: answer.url, head: head, source: .network, missReason: reason,
      entry: nil, times: times, body: body(of: answer, request, head, times))
  }

  private func body(
    of answer: TransportResponse, _ request: HTTPRequest, _ head: HTTPResponseHead,
    _ times: ResponseTimes
  ) -> ResponseBody {
    let url = request.url.string
    let facts = CachingRules.AnswerFacts(
      head: answer.head, version: answer.version, isDecoded: answer.isDecoded)
    if let reason = CachingRules.mayStore(request, facts) {
      return ResponseBody(.network(answer.body, nil), url: url, state: .notStored(reason))
    }
    let recorder = BodyRecorder(
      asyncStore, key: StoredAnswer.key(of: request),
      metadata: StoredAnswer.metadata(head, url: answer.url, times: times))
    return ResponseBody(.network(answer.body, recorder), url: url, state: .pending)
  }
}
