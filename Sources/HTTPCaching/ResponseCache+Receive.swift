public import CacheFormat
import CacheStore
public import HTTPSemantics

extension ResponseCache {
  /// Judges the origin's answer: hands it on, stores it, or serves what is stored; and removes what
  /// it makes invalid.
  ///
  /// - Parameter times: tell when the request was sent and when the head came.
  public func receive(
    _ head: HTTPResponseHead, for forwarding: Forwarding, times: ResponseTimes
  ) -> Receipt {
    if head.status == 304, !forwarding.validating.isEmpty {
      return validate(head, forwarding, times)
    }
    if head.status >= 500, let selected = forwarding.selected,
      rules.mayServeStale(
        selected.response, for: RequestDirectives(forwarding.original.fields),
        at: times.response.date, after: .serverError(head.status)),
      let serving = serving(selected, forwarding.original, at: times.response.date)
    {
      return .stale(serving, status: head.status)
    }
    invalidate(forwarding.original, head)
    if forwarding.original.method == .head { learn(from: head, forwarding, times) }
    var passed = head
    passed.fields = ConnectionFields.removed(from: head.fields)
    return .pass(passed, storing(head, forwarding, times))
  }

  /// Returns what may be served when the origin cannot be reached (RFC 9111, section 4.2.4).
  public func fallback(for forwarding: Forwarding, now: Timestamp) -> Serving? {
    guard let selected = forwarding.selected,
      rules.mayServeStale(
        selected.response, for: RequestDirectives(forwarding.original.fields), at: now.date,
        after: .unreachable)
    else { return nil }
    return serving(selected, forwarding.original, at: now.date)
  }

  /// Freshens what a 304 confirms, and serves it (RFC 9111, sections 4.3.3 and 4.3.4).
  private func validate(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes
  ) -> Receipt {
    let responses = forwarding.validating.map(\.response)
    let indices = Freshening.selected(by: head, among: responses)
    for index in indices {
      let fresh = freshen(forwarding.validating[index], by: head, times)
      guard case .success(let opened) = opened(fresh),
        let serving = serving(
          opened, forwarding.original, at: times.response.date, isValidated: true)
      else { continue }
      return .validated(serving)
    }
    var again = forwarding
    again.request = forwarding.original
    again.validating = []
    return .again(again)
  }

  /// Puts the fields of a 304, or of an answer to `HEAD`, into a stored response.
  ///
  /// A store that cannot write does not keep the fresh fields from being served.
  private func freshen(
    _ variant: StoredVariant, by head: HTTPResponseHead, _ times: ResponseTimes
  ) -> StoredVariant {
    let old = variant.response
    let fields = Freshening.freshened(old.fields, by: rules.fieldsToStore(head.fields))
    let fresh = StoredResponse(
      status: old.status, fields: fields, requestTime: times.request.date,
      responseTime: times.response.date, selection: old.selection, rules: rules)
    _ = try? store.update(variant.info.key, variant: variant.info.variant) { metadata in
      EntryFields.freshen(&metadata, fields: fields, times: times, expires: expiry(of: fresh))
    }
    return StoredVariant(variant, fresh)
  }

  /// Uses what an answer to `HEAD` tells of stored responses (RFC 9111, section 4.3.5).
  private func learn(
    from head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes
  ) {
    guard rules.whyNotStored(
      HTTPRequest(url: forwarding.original.url, fields: forwarding.original.fields), head,
      now: times.response.date) == nil
    else { return }
    for variant in find(forwarding.original, forwarding.key).matching {
      switch Freshening.effect(ofHead: head, on: variant.response, length: variant.length) {
      case .nothing: break
      case .freshen: _ = freshen(variant, by: head, times)
      case .invalidate:
        _ = try? store.remove(forwarding.key, variant: variant.info.variant)
      }
    }
  }

  /// Removes what an unsafe request has made invalid (RFC 9111, section 4.4).
  private func invalidate(_ request: HTTPRequest, _ head: HTTPResponseHead) {
    for url in Invalidation.targets(of: request, answered: head) {
      _ = try? store.remove(key(of: HTTPRequest(url: url, fields: request.fields)))
    }
  }
}
