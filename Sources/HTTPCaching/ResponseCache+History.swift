import CacheFormat
import CacheStore
import HTTPSemantics

// The history of a private cache: responses that it may not reuse, for use without a network (RFC
// 9111, section 6). They are variants of the same key, so whoever removes the key removes them, and
// they are spare entries of the store, which have a share of its limits.
extension ResponseCache {
  /// Returns whether a response that is not stored for reuse is kept in the history.
  func remembering(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes,
    _ reason: NotStoredReason
  ) -> Storing {
    let request = forwarding.original
    guard rules.mayRemember(head, to: request, notStored: reason) else { return .no(reason) }
    // Of a response that no request selects, the last one is shown.
    guard
      let selection = self.selection(varyOf: head.fields, by: request)
        ?? self.selection(varyOf: [], by: request)
    else { return .no(reason) }
    let response = StoredResponse(head, to: request, times, selection: selection, rules: rules)
    var metadata = EntryFields.metadata(response, url: request.url, times: times, expires: nil)
    EntryFields.markAsHistory(&metadata)
    return .inHistory(
      StoringPlan(
        key: forwarding.key, variant: Self.historyVariant(Self.variant(selection, nil)),
        metadata: metadata, response: response, prefix: nil),
      reason)
  }

  /// Keeps the last good response that a 404 or 410 is about to replace. If that fails, it is lost, as
  /// it would be without a history.
  func rememberReplaced(by plan: StoringPlan, _ isPermitted: () -> Bool) {
    guard rules.mayRemember(whatStatusReplaces: plan.response.status),
      case .hit(let info, let reader) = store.read(plan.key, variant: plan.variant),
      let status = info.status, CacheRules.isGood(status), status != 206
    else { return }
    var metadata = info.metadata
    EntryFields.markAsHistory(&metadata)
    _ = try? copy(
      reader, to: plan.key, Self.historyVariant(plan.variant), metadata, isPermitted)
  }

  /// Keeps a response that a 304 has confirmed for a request that does not select it, so that the
  /// same request finds it without a network. If that fails, it does not.
  ///
  /// - Parameter head: The head of the 304. It may forbid that, as the request may.
  func rememberConfirmed(
    _ confirmed: StoredVariant, by head: HTTPResponseHead, _ forwarding: Forwarding,
    _ times: ResponseTimes, _ isPermitted: () -> Bool
  ) {
    let (old, request) = (confirmed.response, forwarding.original)
    // It is a whole 200: of responses that the request does not select, only those are validated.
    guard rules.hasHistory, !isSelected(old.selection, by: request),
      mayRemember(old, confirmedBy: head, request, now: times.response.date),
      let selection = selection(varyOf: old.fields, by: request)
    else { return }
    let (key, variant) = (forwarding.key, Self.historyVariant(Self.variant(selection, nil)))
    guard store.info(for: key, variant: variant)?.digest != confirmed.info.digest,
      case .hit(let info, let reader) = store.read(key, variant: confirmed.info.variant),
      info.digest == confirmed.info.digest
    else { return }
    let response = StoredResponse(
      status: old.status, fields: old.fields, requestTime: times.request.date,
      responseTime: times.response.date, selection: selection, isPersonal: old.isPersonal,
      mayBePersonal: old.mayBePersonal, bodyDate: old.bodyDate, rules: rules)
    var metadata = EntryFields.metadata(response, url: request.url, times: times, expires: nil)
    EntryFields.markAsHistory(&metadata)
    _ = try? copy(reader, to: key, variant, metadata, isPermitted)
  }

  private func mayRemember(
    _ old: StoredResponse, confirmedBy head: HTTPResponseHead, _ request: HTTPRequest, now: HTTPDate
  ) -> Bool {
    let fields = Freshening.freshened(old.fields, by: head.fields, receivedAt: now)
    let whole = HTTPResponseHead(status: old.status, fields: fields)
    let reason = rules.whyNotStored(request, whole, now: now)
    return reason.map { rules.mayRemember(whole, to: request, notStored: $0) } ?? true
  }

  /// Copies a body to another variant, and removes that again if it was not permitted any more: the
  /// body may have been removed before it was copied.
  private func copy(
    _ reader: BodyReader, to key: ByteString, _ variant: UInt64, _ metadata: EntryMetadata,
    _ isPermitted: () -> Bool
  ) throws(StoreError) {
    defer { if !isPermitted() { _ = try? store.remove(key, variant: variant) } }
    if reader.length <= UInt64(Self.smallBody) {
      let body = try reader.read(upTo: Int(reader.length))
      try store.put(body, for: key, variant: variant, metadata: metadata)
      return
    }
    let writer = try store.makeWriter(
      for: key, variant: variant, metadata: metadata, length: reader.length)
    while true {
      let piece = try reader.read(upTo: Self.smallBody)
      if piece.isEmpty { break }
      try writer.write(piece)
    }
    _ = try writer.commit()
  }

  /// Returns what the history has for a request without a network, unless something better is stored.
  func remembered(_ question: Question) -> Serving? {
    let stored = Representation(question.found.matching, question.request, now: question.now)
    if let stored, CacheRules.isGood(stored.base.response.status) { return nil }
    return serving(question.found.history, question.request, question.now)
  }

  /// Returns what the history has for a request whose origin cannot be reached.
  func remembered(_ forwarding: Forwarding, now: HTTPDate) -> Serving? {
    let directives = RequestDirectives(forwarding.original.fields)
    return serving(
      forwarding.history.filter { rules.mayRecall($0.response, for: directives) },
      forwarding.original, now)
  }

  /// Returns what the history has in place of a stored response that is damaged, if there is no network.
  func remembered(insteadOfDamaged question: Question) -> Serving? {
    guard question.policy == .offline else { return nil }
    return serving(question.found.history, question.request, question.now)
  }

  private func serving(
    _ history: [StoredVariant], _ request: HTTPRequest, _ now: HTTPDate
  ) -> Serving? {
    guard var stored = Representation(history, request, now: now),
      mayReturn(stored.base, to: request),
      case .success(let opened) = opened(stored.base)
    else { return nil }
    stored.base = opened
    return serving(stored, request, at: now)
  }

  /// Returns whether a request would select a response if it had its `Accept-Encoding`, and accepts
  /// its content coding. Without a network, a page that was fetched by another client is better than
  /// none; `identity` is always accepted (RFC 9110, section 12.5.3).
  func isSelectedButForCoding(_ response: StoredResponse, by request: HTTPRequest) -> Bool {
    let others = response.selection.fields.filter { $0.name != "accept-encoding" }
    guard isSelected(Selection(fields: others), by: request) else { return false }
    let accepted = Self.acceptedCodings(request.fields)
    return (response.fields.contentCodings ?? []).allSatisfy {
      accepted.contains($0.lowercased())
    }
  }

  /// Returns the codings that a request names, in lower case, without those of weight 0. A request
  /// without the field accepts all by the letter, but its client seldom decodes any.
  private static func acceptedCodings(_ fields: HTTPFields) -> Set<String> {
    var accepted: Set<String> = []
    for member in ListSyntax.members(of: "Accept-Encoding", in: fields) {
      let parts = member.lowercased().split(separator: ";")
        .map { $0.filter { $0 != " " && $0 != "\t" } }
      let isRefused = parts.dropFirst().contains { part in
        part.hasPrefix("q=") && Double(part.dropFirst(2)) == 0
      }
      if let coding = parts.first, !isRefused { accepted.insert(coding) }
    }
    return accepted
  }

  static func historyVariant(_ variant: UInt64) -> UInt64 { variant ^ 0x7365_656E_7365_656E }
}
