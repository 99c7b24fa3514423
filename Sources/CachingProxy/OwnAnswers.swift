import HTTPSemantics

/// The answers that the proxy itself creates.
enum OwnAnswers {
  /// The name of the cache in `Cache-Status`, unless another one is set.
  static let cacheName = "OfflineCache"

  /// Returns an answer with a text.
  static func text(
    _ status: Int, _ words: String, cacheStatus: CacheStatus, closes: Bool = false
  ) -> ProxyAnswer {
    let body = Array((words + "\n").utf8)
    let fields: HTTPFields = [
      HTTPField("Content-Type", "text/plain; charset=utf-8"),
      HTTPField("Cache-Control", "no-store"),
      HTTPField("X-Content-Type-Options", "nosniff"),
    ]
    return ProxyAnswer(
      head: HTTPResponseHead(status: status, fields: fields), body: .bytes(body), source: .proxy,
      cacheStatus: cacheStatus.description, reason: words,
      representationLength: UInt64(body.count), closesConnection: closes)
  }

  /// Returns the answer to a request that is refused. The connection ends, because the beginning of
  /// the next request in it is not known.
  static func refusal(_ refusal: RequestRefusal) -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "refused"
    return text(
      refusal.status, "\(refusal.status): \(refusal.reason).", cacheStatus: status, closes: true)
  }

  /// Returns the record of a client that has gone during its handshake: nothing was sent.
  static func noHandshake(_ reason: String) -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "no-handshake"
    return ProxyAnswer(
      head: HTTPResponseHead(status: 200), body: .bytes([]), source: .proxy,
      cacheStatus: status.description, reason: reason)
  }

  /// Returns the answer to a request that has passed this proxy before.
  static func loop() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "loop"
    return text(
      508,
      "508: the request has come back to this proxy; check --origin, --listen and the proxy settings.",
      cacheStatus: status)
  }

  /// Returns the answer that replaces one whose head is too large.
  static func headTooLarge() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName, forward: .miss)
    status.detail = "head-too-large"
    return text(
      502, "502: the fields of the origin's answer are too large; send fewer or shorter ones.",
      cacheStatus: status)
  }

  /// Returns the answer to `OPTIONS *`, and to `OPTIONS` that must not be forwarded (RFC 9110,
  /// section 7.6.2).
  static func capabilities() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "own"
    return ProxyAnswer(
      head: HTTPResponseHead(
        status: 200, fields: [HTTPField("Allow", allowed)]),
      body: .bytes([]), source: .proxy, cacheStatus: status.description, reason: "own answer")
  }

  /// Returns the answer to a `TRACE` that must not be forwarded.
  static func noTrace() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "own"
    var answer = text(
      405, "405: this proxy does not repeat requests; send TRACE to the origin.",
      cacheStatus: status)
    answer.head.fields.append(HTTPField("Allow", allowed))
    return answer
  }

  private static let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

  /// Returns the answer to a request that would change a page of the proxy.
  static func noChange() -> ProxyAnswer {
    refusal(RequestRefusal(405, "pages are for GET and HEAD"))
  }

  /// Returns the answer with a page of the proxy.
  static func page(_ page: ProxyPage?) -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "own"
    guard let page else {
      return text(
        404, "404: there is no such page; see \(TargetRouter.pages)/", cacheStatus: status)
    }
    var fields: HTTPFields = [
      HTTPField("Content-Type", page.contentType),
      HTTPField("Cache-Control", "no-store"),
      HTTPField("X-Content-Type-Options", "nosniff"),
    ]
    for field in page.fields { fields.append(field) }
    return ProxyAnswer(
      head: HTTPResponseHead(status: page.status, fields: fields), body: .bytes(page.body),
      source: .proxy, cacheStatus: status.description, reason: "own page",
      representationLength: UInt64(page.body.count))
  }
}
