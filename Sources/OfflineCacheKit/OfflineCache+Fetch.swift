// Fetching, with the method names of URLSession.
extension OfflineCache {
  /// Answers a request from the store or the network and returns the whole content.
  ///
  /// Policy, timeout and body of the request, and the cancellation of the task, are honoured. A
  /// stored response is returned at once, on the caller's thread, which blocks for the few
  /// microseconds that the disk takes.
  ///
  /// - Throws: `URLError` with the typed error (`ClientError`, `InvalidURL`) as
  ///   `NSUnderlyingErrorKey`; Docs/Foundation.md has the list. A response with any status is
  ///   returned, not thrown.
  public func data(
    for request: URLRequest
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    try await data(AskedRequest(request, mode: offlineMode))
  }

  /// Answers a request as ``data(for:)`` does, with a lifetime and a priority.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - expiresAfter: The seconds for which a stored response is used after it was received or
  ///     last confirmed, whatever its fields say, even `no-cache`; an older one is validated. It
  ///     applies to the policy `useProtocolCachePolicy`. `nil`: the fields of the response decide.
  ///   - priority: The place among the requests that wait for a connection to the server: higher
  ///     ones first, equal ones in their order. Requests wait if as many are running as there may
  ///     be connections (`OfflineCacheOptions.network.connectionsPerHost`); over HTTP/2 none waits.
  ///     A request that joins an equal one that was sent before has the place of that one.
  /// - Throws: The errors of ``data(for:)``.
  public func data(
    for request: URLRequest, expiresAfter: TimeInterval? = nil, priority: Int = 0
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    var asked = try AskedRequest(request, mode: offlineMode, priority: priority)
    asked.options.lifetime = expiresAfter.map(AskedRequest.lifetime)
    return try await data(asked)
  }

  func data(_ asked: AskedRequest) async throws(URLError) -> (Data, OfflineURLResponse) {
    let (bytes, response) = try await whole(asked)
    return (Data(bytes), response)
  }

  /// Fetches a URL with `GET` and returns the whole content; see ``data(for:)``.
  public func data(from url: URL) async throws(URLError) -> (Data, OfflineURLResponse) {
    try await data(for: URLRequest(url: url))
  }

  /// Fetches a URL with `GET` and returns the whole content; see
  /// ``data(for:expiresAfter:priority:)``.
  public func data(
    from url: URL, expiresAfter: TimeInterval? = nil, priority: Int = 0
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    try await data(for: URLRequest(url: url), expiresAfter: expiresAfter, priority: priority)
  }

  /// Sends data and returns the whole response; see ``data(for:)``.
  ///
  /// The method is `POST` if the request has `GET`. Stored responses that the request makes invalid
  /// are removed.
  public func upload(
    for request: URLRequest, from bodyData: Data
  ) async throws(URLError) -> (Data, OfflineURLResponse) {
    var request = request
    request.httpBody = bodyData
    if request.httpMethod == "GET" { request.httpMethod = "POST" }
    return try await data(for: request)
  }

  func whole(
    _ asked: AskedRequest
  ) async throws(URLError) -> ([UInt8], OfflineURLResponse) {
    if !Task.isCancelled, let stored = storedNow(asked) { return stored }
    // A function, because for a closure a caller on an actor would change threads, there and back.
    func bytes(of response: ClientResponse) async throws(ClientError) -> [UInt8] {
      let limit = options.maximumDataBytes
      if let bytes = try Self.bytesAtOnce(response, limit) { return bytes }
      if Self.isShort(response) { return try await client.wholeBody(of: response, limit: limit) }
      return try await longBody(response, limit)
    }
    do throws(URLError) { return try await answering(asked, bytes(of:)) } catch {
      // A stored body that proves damaged, or a substitute that changes, is fetched.
      guard case .store? = error.clientCause, asked.body == nil,
        asked.options.policy.allowsNetwork,
        asked.request.method == .get || asked.request.method == .head
      else { throw error }
    }
    var again = asked
    again.options.policy = .reload
    return try await answering(again, bytes(of:))
  }

  /// The length of the longest body, in bytes, that is received on the caller's thread.
  private static let shortBody: UInt64 = 64 << 10

  /// Returns whether a body is known to be short. A body that is decoded has no known length.
  private static func isShort(_ response: ClientResponse) -> Bool {
    response.head.fields.contentLength.map { $0 <= shortBody } ?? false
  }

  /// Collects a body on another thread than the caller's, which may be the main thread.
  @concurrent
  private func longBody(
    _ response: ClientResponse, _ limit: Int
  ) async throws(ClientError) -> [UInt8] {
    try await client.wholeBody(of: response, limit: limit)
  }

  /// The length of the longest stored body in a content coding, in bytes, that is decoded on the
  /// caller's thread.
  private static let decodedAtOnce = 16 << 10

  /// Returns the content if that is faster than changing threads: it is in memory, or it is short
  /// and has to be decoded. Otherwise returns `nil`.
  private static func bytesAtOnce(
    _ response: ClientResponse, _ limit: Int
  ) throws(ClientError) -> [UInt8]? {
    if case .bytes(let bytes) = response.body.content, bytes.count <= limit { return bytes }
    guard let entry = response.entry, entry.length <= UInt64(decodedAtOnce) else { return nil }
    return try response.storedBytes(limit: limit)
  }

  /// Answers a request and calls `use` with the response. If the network fails, or the content coding
  /// of its answer is damaged, and a stored response may be used instead, `use` is called again, with
  /// that response.
  ///
  /// - Parameter failure: The error of an earlier attempt, after which the network is not asked again.
  func answering<R: Sendable>(
    _ asked: AskedRequest, after failure: ClientError? = nil,
    _ use: nonisolated(nonsending) (ClientResponse) async throws(ClientError) -> R
  ) async throws(URLError) -> (R, OfflineURLResponse) {
    do throws(ClientError) {
      if Task.isCancelled { throw cancelled(asked) }
      var isFromStore = false
      do throws(ClientError) {
        if let failure { throw failure }
        let (response, standIn) = try await fetch(asked)
        isFromStore = response.source != .network
        return try await finish(asked, response, standIn: standIn, use)
      } catch {
        guard offlineMode == .whenUnreachable, !isFromStore, let standIn = StandIn(error),
          let stored = await storedOffline(asked)
        else { throw error }
        return try await finish(asked, stored, standIn: standIn, use)
      }
    } catch {
      throw self.failure(error, asked)
    }
  }

  /// Returns the whole stored response at once, or `nil` if the network has to be asked.
  ///
  /// - Parameter mayTakeLonger: whether the body may be read from the disk, or decoded, here; if not,
  ///   `nil` is also returned for a body for which changing threads takes less time.
  func storedNow(
    _ asked: AskedRequest, mayTakeLonger: Bool = false
  ) -> ([UInt8], OfflineURLResponse)? {
    let limit = options.maximumDataBytes
    guard let (response, standIn) = storedAnswer(asked), redirectFault(response) == nil,
      let bytes = mayTakeLonger
        ? try? response.storedBytes(limit: limit) : try? Self.bytesAtOnce(response, limit),
      let made = OfflineURLResponse.make(response, to: asked, standIn: standIn)
    else { return nil }
    return (bytes, made)
  }

  private func fetch(
    _ asked: AskedRequest
  ) async throws(ClientError) -> (ClientResponse, StandIn?) {
    if let stored = storedAnswer(asked) { return stored }
    return (
      try await client.fetch(asked.request, body: asked.body, options: sparing(asked)), nil
    )
  }

  func answersNow(_ asked: AskedRequest) -> Bool {
    var asked = asked
    asked.options.validatesInBackground = false
    return storedAnswer(asked).map { Self.isFile($0.0) } ?? false
  }

  /// Returns whether a response has the content of a file. As in a download, other successes, such as
  /// 204, have none that a file could replace.
  static func isFile(_ response: ClientResponse) -> Bool {
    [200, 203].contains(response.head.status)
  }

  /// Returns the stored response if the rules allow it, or if there is no network to ask.
  private func storedAnswer(_ asked: AskedRequest) -> (ClientResponse, StandIn?)? {
    guard asked.body == nil else { return nil }
    if let response = client.storedAnswer(to: asked.request, options: sparing(asked)) {
      return (response, nil)
    }
    guard let network = poorNetwork(asked) else { return nil }
    if network.quality == .none {
      return stored(asked, .offline).map { ($0, .noNetwork(network.reason)) }
    }
    guard options.sparesConstrainedNetworks else { return nil }
    return stored(asked, .storedElseLoad).map { ($0, .constrained(network.reason)) }
  }

  /// Returns the network to a server if stored responses may be preferred to it.
  func poorNetwork(_ asked: AskedRequest) -> NetworkState? {
    guard offlineMode == .whenUnreachable, let network = options.reachability?.current,
      network.quality != .free, !asked.request.url.isLoopback,
      network.quality != .none || !mayNeedNoRoute(asked.request.url)
    else { return nil }
    return network
  }

  /// Returns whether a server may be reached although no packet leaves the local network: it is in
  /// that network, or a proxy is.
  private func mayNeedNoRoute(_ url: NormalizedURL) -> Bool {
    url.isLocal || mayUseProxy
  }

  /// Returns the options of a request. To spare the network, stored responses are not validated in
  /// the background.
  private func sparing(_ asked: AskedRequest) -> FetchOptions {
    guard options.sparesConstrainedNetworks, poorNetwork(asked) != nil else { return asked.options }
    var options = asked.options
    options.validatesInBackground = false
    return options
  }

  /// Returns the stored response for a laxer policy, unless the request asks for the origin
  /// explicitly.
  func stored(_ asked: AskedRequest, _ policy: CachePolicy) -> ClientResponse? {
    guard asked.acceptsFallback else { return nil }
    var options = asked.options
    options.policy = policy
    options.validatesInBackground = false
    return client.storedAnswer(to: asked.request, options: options)
  }

  /// Returns the stored response for use without a network, also one for the credential of the vault.
  private func storedOffline(_ asked: AskedRequest) async -> ClientResponse? {
    if let stored = stored(asked, .offline) { return stored }
    guard asked.acceptsFallback, options.credentialVault != nil else { return nil }
    var offline = asked.options
    offline.policy = .offline
    return try? await client.fetch(asked.request, options: offline)
  }

  private func finish<R: Sendable>(
    _ asked: AskedRequest, _ response: ClientResponse, standIn: StandIn?,
    _ use: nonisolated(nonsending) (ClientResponse) async throws(ClientError) -> R
  ) async throws(ClientError) -> (R, OfflineURLResponse) {
    if let fault = redirectFault(response) {
      response.body.cancel()
      throw fault
    }
    // The body is read first: only after that is it known whether it was stored.
    let result = try await use(response)
    guard let made = OfflineURLResponse.make(response, to: asked, standIn: standIn) else {
      throw ClientError(
        .protocolViolation, url: response.url.string,
        detail: "Foundation makes no response of \(response.head.status)")
    }
    return (result, made)
  }

  /// Returns an error for a redirect that cannot be followed because its URL cannot be fetched,
  /// such as `file:`. A redirect without `Location` is an ordinary response.
  private func redirectFault(_ response: ClientResponse) -> ClientError? {
    Redirection.fault(response.head, from: response.url).map {
      ClientError(
        .unusableRedirect, url: response.url.string,
        detail: "the redirect leads to \($0.description)")
    }
  }

  func cancelled(_ asked: AskedRequest) -> ClientError {
    ClientError(.cancelled, url: asked.request.url.string)
  }

  func failure(_ error: ClientError, _ asked: AskedRequest) -> URLError {
    URLError(error, url: asked.url, isOffline: asked.options.policy == .offline)
  }
}
