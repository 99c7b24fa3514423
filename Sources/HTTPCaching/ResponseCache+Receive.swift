package import CacheFormat
import CacheStore
package import HTTPSemantics

extension ResponseCache {
  /// Evaluates the origin's response: passes it on, stores it, or serves the stored response.
  ///
  /// - Parameters:
  ///   - times: the times at which the request was sent and the head was received.
  ///   - isPermitted: Returns whether nothing has invalidated the answer since the request was sent.
  ///   - onOutdated: Called when a `HEAD` shows that the stored response is outdated, or a 304 forbids
  ///     storing it.
  package func receive(
    _ head: HTTPResponseHead, for forwarding: Forwarding, times: ResponseTimes,
    isPermitted: () -> Bool = { true }, onOutdated: () -> Void = {}
  ) -> Receipt {
    if head.status == 304, !forwarding.validating.isEmpty {
      return validate(head, forwarding, times, isPermitted, onOutdated)
    }
    if let beginning = forwarding.completing {
      switch head.status {
      case 206: return complete(beginning, head, forwarding, times)
      case 416: return withoutPart(beginning, forwarding)
      // They refer to a condition, and only this cache has set one.
      case 304, 412: return .again(forwarding.forWhole)
      default: break
      }
    }
    if head.status >= 500, let selected = forwarding.fallback,
      rules.mayServeStale(
        selected.base.response, for: RequestDirectives(forwarding.original.fields),
        at: times.response.date, after: .serverError(head.status)),
      let serving = serving(selected, forwarding.original, at: times.response.date)
    {
      return .stale(serving, status: head.status)
    }
    if head.status == 206 {
      outdateWhole(head, forwarding, times)
    } else if forwarding.original.method == .head, forwarding.reason != .requestBody {
      if learn(from: head, forwarding, times) { onOutdated() }
    }
    var passed = head
    passed.fields = ConnectionFields.removed(from: head.fields)
    let storing = storing(head, forwarding, times)
    if case .yes(let plan) = storing {
      rememberReplaced(by: plan, isPermitted)
      outdateVaried(by: plan, forwarding)
      damaged.remove(plan.key)
    }
    return .pass(passed, storing)
  }

  /// Returns whether ``receive(_:for:times:isPermitted:)`` needs no access to the disk. This is the usual case:
  /// a response to `GET` that confirms and completes nothing, is not a server error, and replaces
  /// nothing that the history keeps.
  package func receivesAtOnce(_ head: HTTPResponseHead, for forwarding: Forwarding) -> Bool {
    forwarding.original.method == .get && ![206, 304, 416].contains(head.status)
      && head.status < 500 && !rules.mayRemember(whatStatusReplaces: head.status)
      && (head.fields.contains("Vary") || !hasVariants(forwarding.key))
  }

  /// Returns whether a key has other responses than the default one and the history of that.
  func hasVariants(_ key: ByteString) -> Bool {
    let history = Self.historyVariant(0)
    return store.outline(of: key).contains { $0.variant != 0 && $0.variant != history }
      || memory.find(key).contains { $0.info.variant != 0 }
  }

  /// Returns the response to serve if the origin cannot be reached (RFC 9111, section 4.2.4).
  package func fallback(for forwarding: Forwarding, now: Timestamp) -> Serving? {
    let selected = forwarding.fallback
    // The history is older than a stored answer.
    if !(selected.map { CacheRules.isGood($0.base.response.status) } ?? false),
      let remembered = remembered(forwarding, now: now.date)
    {
      return remembered
    }
    guard let selected,
      rules.mayServeStale(
        selected.base.response, for: RequestDirectives(forwarding.original.fields), at: now.date,
        after: .unreachable)
    else { return nil }
    return serving(selected, forwarding.original, at: now.date)
  }

  /// Freshens the stored response that a 304 confirms, and serves it (RFC 9111, sections 4.3.3 and
  /// 4.3.4).
  private func validate(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes,
    _ isPermitted: () -> Bool, _ onOutdated: () -> Void
  ) -> Receipt {
    let now = times.response.date
    var validating = forwarding.validating
    let responses = validating.map(\.response)
    let chosen = Freshening.chosen(from: responses, by: head.fields, now: now)
    // This is an access, so that it is not evicted for the room that its new fields need.
    if let first = chosen.first, case .success(let variant) = opened(validating[first]) {
      validating[first] = variant
    }
    let freshened = chosen.map { freshen(validating[$0], forwarding, head, times) }
    if freshened.contains(where: \.isRemoved) { onOutdated() }
    var confirmed = freshened.first
    if confirmed == nil, let index = Freshening.confirmed(from: responses, by: head.fields) {
      confirmed = (validating[index], true, false)
    }
    if let (fresh, isForAll, _) = confirmed,
      let stored = representation(of: fresh, forwarding, now: now),
      var serving = serving(stored, forwarding.original, at: now, isValidated: true)
    {
      rememberConfirmed(fresh, by: head, forwarding, times, isPermitted)
      serving.isForAll = isForAll
      serving.head.fields.append(contentsOf: rules.fieldsForCaller(of: head.fields))
      return .validated(serving)
    }
    var again = forwarding
    again.request = forwarding.original
    again.validating = []
    return .again(again)
  }

  /// Returns the representation of a confirmed response, opened.
  private func representation(
    of fresh: StoredVariant, _ forwarding: Forwarding, now: HTTPDate
  ) -> Representation? {
    guard case .success(let opened) = opened(fresh) else { return nil }
    guard var stored = forwarding.selected,
      stored.base.info.variant == opened.info.variant
    else { return Representation([opened], forwarding.original, now: now) }
    stored.base = opened
    return stored
  }

  /// Updates a stored response with the fields of a 304, or of a response to `HEAD`.
  ///
  /// The fresh fields are served even if the store cannot be written. If the stored response was
  /// replaced meanwhile, the store is not changed, because that response has another body. A
  /// response that could not be stored as a whole (RFC 9111, section 3) is for this caller only.
  func freshen(
    _ variant: StoredVariant, _ forwarding: Forwarding, _ head: HTTPResponseHead,
    _ times: ResponseTimes
  ) -> (StoredVariant, isForAll: Bool, isRemoved: Bool) {
    let old = variant.response
    let merged = Freshening.freshened(
      old.fields, by: head.fields, receivedAt: times.response.date)
    let selection = selection(of: old, after: head, forwarding.original, merged)
    // The directives about fields that are not stored may be in either of them.
    let fresh = StoredResponse(
      HTTPResponseHead(status: old.status, fields: merged), to: forwarding.original, times,
      selection: selection ?? old.selection, bytesOf: old, rules: rules)
    let asked = HTTPRequest(url: forwarding.original.url, fields: forwarding.original.fields)
    let whole = HTTPResponseHead(status: old.status == 206 ? 200 : old.status, fields: merged)
    let reason = rules.whyNotStored(asked, whole, now: times.response.date)
    if reason == nil
      ? selection == nil : Self.forbidsReuse(reason, to: forwarding.original)
    {
      removeIfSame(variant.info)
      return (variant.with(fresh), false, true)
    }
    guard reason == nil else { return (variant.with(fresh), false, false) }
    if memory.replace(variant, by: variant.with(fresh)) {
      return (variant.with(fresh), true, false)
    }
    let known = variant.info.metadata
    _ = try? store.update(variant.info.key, variant: variant.info.variant) { metadata in
      guard metadata.isSameResponse(as: known) else { return }
      EntryFields.freshen(&metadata, fresh, times: times, expires: rules.expiry(of: fresh))
    }
    return (variant.with(fresh), true, false)
  }

  /// Returns whether the server forbids with a 304, or an answer to `HEAD`, that the stored response is
  /// used again. An answer to a user's own request may be meant for that user alone.
  static func forbidsReuse(_ reason: NotStoredReason?, to request: HTTPRequest) -> Bool {
    switch reason {
    case .noStoreResponse, .privateResponse, .varyAll: !request.isPersonal
    default: false
    }
  }

  /// Returns the selection of a freshened response, because a 304 may have another `Vary`; `nil` if
  /// no request selects it any more (`*`).
  private func selection(
    of old: StoredResponse, after head: HTTPResponseHead, _ request: HTTPRequest,
    _ fields: HTTPFields
  ) -> Selection? {
    guard head.fields.contains("Vary"), isSelected(old.selection, by: request) else {
      return old.selection
    }
    return selection(varyOf: fields, by: request)
  }
}

// Responses that several requests share.
extension ResponseCache {
  /// Returns the response to another request that waited for the same validation; `nil` if there is
  /// none (``CacheRules/mayCollapse(_:for:at:takesStale:)``). `no-cache` requires a validation for
  /// each request (RFC 9111, section 5.2.2.4).
  ///
  /// - Parameters:
  ///   - status: the status of the origin's response: 304, or the error that permits a stale
  ///     response.
  ///   - takesStale: whether the request came before the response.
  package func adapted(
    _ serving: Serving, to request: HTTPRequest, answered status: Int, takesStale: Bool = false,
    now: Timestamp
  ) -> Serving? {
    var variant = serving.variant
    let directives = RequestDirectives(request.fields)
    let isUsable =
      status == 304
      ? rules.mayCollapse(
        variant.response, for: directives, at: now.date, takesStale: takesStale)
      : rules.mayServeStale(
        variant.response, for: directives, at: now.date, after: .serverError(status))
    guard serving.isForAll, isUsable, mayReturn(variant, to: request) else { return nil }
    // Each response needs its own reader of the body.
    if case .file = variant.body { variant = variant.with(nil) }
    guard isSelected(variant.response.selection, by: request),
      case .success(let opened) = opened(variant),
      let stored = Representation([opened], request, now: now.date)
    else { return nil }
    return self.serving(stored, request, at: now.date)
  }

  /// Returns the head for another request that waited for a response which is being stored; `nil`
  /// if the request may not be answered with it (RFC 9111, section 4).
  ///
  /// - Parameter takesStale: whether the request came before the response.
  package func collapsed(
    _ plan: StoringPlan, to request: HTTPRequest, takesStale: Bool = false, now: Timestamp
  ) -> HTTPResponseHead? {
    let response = plan.response
    guard response.contentRange == nil, isSelected(response.selection, by: request),
      rules.mayCollapse(
        response, for: RequestDirectives(request.fields), at: now.date, takesStale: takesStale)
    else { return nil }
    let head = HTTPResponseHead(
      status: response.status,
      fields: rules.fieldsToServe(response, at: now.date, validated: false))
    if let mayReturnStored, !mayReturnStored(request, head) { return nil }
    return head
  }

  /// Returns whether a response that is being stored could answer other requests that waited for
  /// it.
  package func isShareable(_ plan: StoringPlan, now: Timestamp) -> Bool {
    rules.mayCollapse(plan.response, for: RequestDirectives(), at: now.date, takesStale: true)
  }

  /// Returns whether a stored response that was confirmed could answer other requests that waited
  /// for it.
  package func isShareable(_ confirmed: Serving, now: Timestamp) -> Bool {
    confirmed.isForAll
      && rules.mayCollapse(
        confirmed.variant.response, for: RequestDirectives(), at: now.date, takesStale: true)
  }
}
