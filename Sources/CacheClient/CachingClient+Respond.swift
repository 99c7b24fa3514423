// Responses made from decisions and outcomes.
extension CachingClient {
  /// Makes the response from the outcome of a request to the origin.
  ///
  /// - Parameter asker: whether the request was sent for this caller; others may only have what may
  ///   be stored.
  /// - Returns: `nil` if the caller has to send a request of its own.
  func response(
    to forwarding: Forwarding, _ outcome: Outcome, _ asker: Flight.Asker
  ) throws(ClientError) -> ClientResponse? {
    let isFirst = asker == .first
    let takesStale = asker == .waiter(takesStale: true)
    var status = CacheStatus(
      cacheName: options.cacheName, forward: forwarding.reason.forwarded)
    status.isCollapsed = !isFirst
    status.detail = forwarding.remark
    switch outcome {
    case .failed(let error): return try fallback(forwarding, error, status, isFirst: isFirst)
    case .stored(let serving, let code):
      status.forwardStatus = code
      if isFirst { return stored(serving, forwarding, status) }
      return cache.adapted(
        serving, to: forwarding.original, answered: code, takesStale: takesStale, now: now
      )
      .map { stored($0, forwarding, status) }
    case .direct(let head, let body, let reason):
      return isFirst
        ? direct(
          head, body, notStored: reason, forwarding: forwarding, status: status) : nil
    case .remembered(let head, let body, let reason):
      guard isFirst, let reader = body.makeReader() else { return nil }
      return ClientResponse(
        request: forwarding.original, head: head, source: .network, reason: forwarding.reason,
        cacheStatus: status, entry: nil,
        body: ResponseBody(
          reader, .stream(length: body.length), keeping: { body.storing }
        ) { .notStored(reason) })
    case .shared(let head, let body):
      var head = head
      if !isFirst {
        guard
          let collapsed = cache.collapsed(
            body.plan, to: forwarding.original, takesStale: takesStale, now: now)
        else { return nil }
        head = collapsed
      }
      return shared(head, body, forwarding: forwarding, status: status)
    }
  }

  func served(
    _ serving: Serving, _ request: HTTPRequest, _ options: FetchOptions, detail: String? = nil
  ) -> ClientResponse {
    var status = CacheStatus(cacheName: self.options.cacheName, isHit: true)
    status.detail = detail ?? (serving.isHistory ? "history" : nil)
    status.ttl = serving.ttl
    if options.validatesInBackground, let revalidation = serving.revalidation {
      validateInBackground(revalidation, options)
    }
    let lifetime = options.policy.usesLifetime ? options.lifetime : nil
    return response(from: serving, request, nil, status, lifetime)
  }

  private func stored(
    _ serving: Serving, _ forwarding: Forwarding, _ status: CacheStatus
  ) -> ClientResponse {
    var status = status
    status.ttl = serving.ttl
    return response(
      from: serving, forwarding.original, forwarding.reason, status, forwarding.lifetime)
  }

  private func response(
    from serving: Serving, _ request: HTTPRequest, _ reason: ForwardReason?,
    _ status: CacheStatus, _ lifetime: Int64?
  ) -> ClientResponse {
    var response = ClientResponse(
      request: request, head: serving.head, source: source(of: serving), reason: reason,
      cacheStatus: status, entry: serving.variant.info, body: body(of: serving, request))
    response.lifetimeLeft = lifetime.map {
      options.rules.timeLeft(of: $0, for: serving.variant.response, at: now.date)
    }
    response.isOfFuture = options.rules.isOfFuture(
      serving.variant.response, now.date, lifetime: lifetime)
    return response
  }

  private func fallback(
    _ forwarding: Forwarding, _ error: TransportError, _ status: CacheStatus, isFirst: Bool
  ) throws(ClientError) -> ClientResponse? {
    if error.code == .cancelled {
      // The caller for whom the request was sent has left.
      if !isFirst, !Task.isCancelled { return nil }
    } else if error.isUnreachable, let serving = cache.fallback(for: forwarding, now: now) {
      var status = status
      status.detail = serving.isHistory ? "history" : "origin-\(error.code.rawValue)"
      var response = stored(serving, forwarding, status)
      response.originError = error
      return response
    }
    throw ClientError(.transport(error), url: forwarding.request.url.string)
  }

  private func direct(
    _ head: HTTPResponseHead, _ body: any TransportBody, notStored reason: NotStored,
    forwarding: Forwarding, status: CacheStatus
  ) -> ClientResponse {
    let request = forwarding.original
    let hasBody = request.method != .head && head.status != 204 && head.status != 304
    let length = hasBody ? head.fields.contentLength : 0
    return ClientResponse(
      request: request, head: head, source: .network, reason: forwarding.reason,
      cacheStatus: status, entry: nil,
      body: ResponseBody(
        TransportSource(body, url: request.url.string), .stream(length: length)
      ) { .notStored(reason) })
  }

  private func shared(
    _ head: HTTPResponseHead, _ body: SharedBody, forwarding: Forwarding,
    status: CacheStatus
  ) -> ClientResponse? {
    let request = forwarding.original
    var status = status
    status.isStored = !store.isReadOnly && (try? store.checkOpen()) != nil
    guard let reader = body.makeReader() else { return nil }
    var response = ClientResponse(
      request: request, head: head, source: .network, reason: forwarding.reason,
      cacheStatus: status, entry: nil,
      body: ResponseBody(reader, .stream(length: body.length)) { body.storing })
    response.lifetimeLeft = forwarding.lifetime
    return response
  }

  private func source(of serving: Serving) -> ResponseSource {
    if case .bytes(_, .memory) = serving.variant.body { .memory } else { .disk }
  }

  /// Makes the body from its slices, in the form that needs the fewest copies.
  private func body(of serving: Serving, _ request: HTTPRequest) -> ResponseBody {
    let url = request.url.string
    if serving.slices.isEmpty {
      return ResponseBody(BytesSource([]), .bytes([])) { .fromStore }
    }
    if serving.slices.count == 1 { return body(of: serving.slices[0], url) }
    let length = serving.slices.reduce(UInt64(0)) { $0 + UInt64($1.range.count) }
    let sources = serving.slices.map { $0.source(asyncStore, url: url) }
    return ResponseBody(JoinedSource(sources), .stream(length: length)) { .fromStore }
  }

  private func body(of slice: BodySlice, _ url: String) -> ResponseBody {
    let content: BodyContent =
      switch slice.body {
      case .bytes(let all, _): .bytes(slice.bytes(of: all))
      case .file(let reader) where reader.isVerified && reader.descriptor != nil:
        .file(reader, slice.range)
      case .file: .stream(length: UInt64(slice.range.count))
      }
    return ResponseBody(slice.source(asyncStore, url: url), content) { .fromStore }
  }
}
