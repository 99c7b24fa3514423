import HTTPSemantics

/// Makes the answers that the proxy gives itself.
enum OwnAnswers {
  /// The name of the cache in `Cache-Status`, unless the client is told another one.
  static let cacheName = "OfflineCache"

  /// Returns an answer in words.
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

  /// Returns the answer to a request that is not taken; the connection ends, for nobody can tell
  /// where the next request in it would begin.
  static func refusal(_ refusal: RequestRefusal) -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "refused"
    return text(
      refusal.status, "\(refusal.status): \(refusal.reason).", cacheStatus: status, closes: true)
  }

  /// Returns the answer to a request that has been here before.
  static func loop() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "loop"
    return text(
      508,
      "508: the request has come back to this proxy; check --origin, --listen and the proxy settings.",
      cacheStatus: status)
  }

  /// Returns the answer instead of one whose head is too large.
  static func headTooLarge() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName, forward: .miss)
    status.detail = "head-too-large"
    return text(
      502, "502: the fields of the origin's answer are too large; send fewer or shorter ones.",
      cacheStatus: status)
  }

  /// Returns the answer to `OPTIONS *`, and to `OPTIONS` that may not go on (RFC 9110, section
  /// 7.6.2).
  static func capabilities() -> ProxyAnswer {
    var status = CacheStatus(cacheName: cacheName)
    status.detail = "own"
    return ProxyAnswer(
      head: HTTPResponseHead(
        status: 200, fields: [HTTPField("Allow", allowed)]),
      body: .bytes([]), source: .proxy, cacheStatus: status.description, reason: "own answer")
  }

  /// Returns the answer to a `TRACE` that may not go on.
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

  /// Returns a page of the proxy.
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
