import HTTPSemantics

enum OwnAnswers {
  /// The name of the cache in `Cache-Status`, unless another one is set.
  static let cacheName = "OfflineCache"

  static func text(
    _ status: Int, _ words: String, cacheStatus: CacheStatus, closes: Bool = false
  ) -> ProxyAnswer {
    let body = Array((words + "\n").utf8)
    return ProxyAnswer(
      head: HTTPResponseHead(status: status, fields: fields("text/plain; charset=utf-8")),
      body: .bytes(body), source: .proxy, cacheStatus: cacheStatus, reason: words,
      representationLength: UInt64(body.count), closesConnection: closes)
  }

  /// Returns the fields that every answer with content has.
  private static func fields(_ contentType: String) -> HTTPFields {
    [
      HTTPField("Content-Type", contentType),
      HTTPField("Cache-Control", "no-store"),
      HTTPField("X-Content-Type-Options", "nosniff"),
    ]
  }

  private static func status(_ detail: String, forward: CacheStatus.Forward? = nil) -> CacheStatus {
    var status = CacheStatus(cacheName: cacheName, forward: forward)
    status.detail = detail
    return status
  }

  /// Returns the answer to a request that is refused. The connection ends, because the beginning of
  /// the next request in it is not known.
  static func refusal(_ refusal: RequestRefusal) -> ProxyAnswer {
    text(
      refusal.status, "\(refusal.status): \(refusal.reason).", cacheStatus: status("refused"),
      closes: true)
  }

  /// Returns the record of a client that has gone during its handshake: nothing was sent.
  static func noHandshake(_ reason: String) -> ProxyAnswer {
    ProxyAnswer(
      head: HTTPResponseHead(status: 200), body: .bytes([]), source: .proxy,
      cacheStatus: status("no-handshake"), reason: reason)
  }

  /// Returns the answer to a request that has passed this proxy before.
  static func loop() -> ProxyAnswer {
    text(
      508,
      "508: the request has come back to this proxy; check --origin, --listen and the proxy settings.",
      cacheStatus: status("loop"))
  }

  static func headTooLarge() -> ProxyAnswer {
    text(
      502, "502: the fields of the origin's answer are too large; send fewer or shorter ones.",
      cacheStatus: status("head-too-large", forward: .miss))
  }

  /// Returns the answer to `OPTIONS *`, and to `OPTIONS` that must not be forwarded (RFC 9110,
  /// section 7.6.2).
  static func capabilities() -> ProxyAnswer {
    ProxyAnswer(
      head: HTTPResponseHead(status: 200, fields: [HTTPField("Allow", allowed)]),
      body: .bytes([]), source: .proxy, cacheStatus: status("own"),
      reason: "own answer")
  }

  /// Returns the answer to a `TRACE` that must not be forwarded.
  static func noTrace() -> ProxyAnswer {
    var answer = text(
      405, "405: this proxy does not repeat requests; send TRACE to the origin.",
      cacheStatus: status("own"))
    answer.head.fields.append(HTTPField("Allow", allowed))
    return answer
  }

  private static let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

  /// Returns the answer to a request that would change a page of the proxy.
  static func noChange() -> ProxyAnswer {
    var answer = refusal(RequestRefusal(405, "pages are for GET and HEAD"))
    answer.head.fields.append(HTTPField("Allow", "GET, HEAD"))
    return answer
  }

  static func page(_ page: ProxyPage?) -> ProxyAnswer {
    guard let page else {
      return text(
        404, "404: there is no such page; see \(TargetRouter.pages)/", cacheStatus: status("own"))
    }
    var fields = fields(page.contentType)
    for field in page.fields { fields.append(field) }
    return ProxyAnswer(
      head: HTTPResponseHead(status: page.status, fields: fields), body: .bytes(page.body),
      source: .proxy, cacheStatus: status("own"), reason: "own page",
      representationLength: UInt64(page.body.count))
  }
}
