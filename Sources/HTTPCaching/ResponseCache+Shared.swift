package import CacheFormat
import CacheStore
package import HTTPSemantics

extension SharedForm {
  /// Returns the response of another machine, for the rules; `nil` if they forbid it.
  ///
  /// - Parameter now: The current time: the times of the response are moved to it if they are
  ///   later.
  fileprivate func response(
    of url: NormalizedURL, _ rules: CacheRules, now: Timestamp
  ) -> (StoredResponse, ResponseTimes)? {
    let times = ResponseTimes(request: min(requested, now), response: min(received, now))
    let fields = HTTPFields(
      self.fields.map { HTTPField(name: $0.name.description, value: $0.value.bytes) })
    guard fields.allSatisfy(\.isValid), let selection = EntryFields.selection(selecting)
    else { return nil }
    // Another machine may have added the `Date`, so the time of the bytes is not known.
    let response = StoredResponse(
      status: status, fields: rules.fieldsToStore(fields, receivedAt: times.response.date),
      requestTime: times.request.date, responseTime: times.response.date, selection: selection,
      rules: rules)
    guard CacheRules.mayShare(response, of: url), rules.mayUse(response) else { return nil }
    return (response, times)
  }
}

// Without a store, for downloads.
extension SharedForm {
  /// Creates the form of an answer of the origin; `nil` if machines must not share it.
  package init?(
    _ head: HTTPResponseHead, to request: HTTPRequest, _ times: ResponseTimes, _ rules: CacheRules
  ) {
    // A concealed value is never shared: any 64 digits stand for it.
    let selection = Selection(varyOf: head.fields, request: request.fields) { _ in
      Array(repeating: UInt8(ascii: "0"), count: 64)
    }
    guard let selection, rules.whyNotStored(request, head, now: times.response.date) == nil
    else { return nil }
    let response = StoredResponse(head, to: request, times, selection: selection, rules: rules)
    guard CacheRules.mayShare(response, of: request.url) else { return nil }
    self.init(
      selecting: selection.fields.map(EntryFields.line), status: response.status,
      fields: EntryFields.fields(response.fields), requested: times.request,
      received: times.response)
  }

  /// Returns the head with which the form answers a request; `nil` if it must not, if the request
  /// does not select it, or if it is not fresh.
  package func freshHead(
    for request: HTTPRequest, _ rules: CacheRules, now: Timestamp
  ) -> HTTPResponseHead? {
    guard let (response, _) = response(of: request.url, rules, now: now),
      response.selection.matches(request.fields, conceal: { $0 }),
      case .fresh = rules.reuse(
        of: response, for: RequestDirectives(request.fields), at: now.date)
    else { return nil }
    return HTTPResponseHead(
      status: response.status, fields: rules.fieldsToServe(response, at: now.date, validated: false)
    )
  }
}

extension EntryMetadata {
  private static let sha256Name = ByteString("http-sha256")

  /// The SHA-256 of the body (`http-sha256` in the user info). Written where a tier is configured
  /// and machines may share the response, so that an offer does not have to compute it.
  package var bodySHA256: [UInt8]? {
    get {
      userInfo.first { $0.name == Self.sha256Name }
        .flatMap { [UInt8](hexadecimal: $0.value.description) }
        .flatMap { $0.count == 32 ? $0 : nil }
    }
    set {
      userInfo.removeAll { $0.name == Self.sha256Name }
      if let newValue { userInfo.append(Field(Self.sha256Name, ByteString(newValue.hexadecimal))) }
    }
  }

  /// Returns whether this is the metadata of the same response. Only the SHA-256 of the body may
  /// differ: it is added in the background.
  func isSameResponse(as other: EntryMetadata) -> Bool {
    var (own, others) = (self, other)
    own.bodySHA256 = nil
    others.bodySHA256 = nil
    return own == others
  }
}

// Responses that machines share (CacheRules.mayShare).
extension ResponseCache {
  /// Returns the form of an entry in which other machines may have it; `nil` if they must not.
  package func sharedForm(of info: EntryInfo) -> SharedForm? {
    guard let (response, times, isHistory) = EntryFields.read(info, rules), !response.isOutdated,
      let url = EntryFields.url(of: info.metadata), CacheRules.mayShare(response, of: url),
      !info.key.bytes.starts(with: KeyRule.headPrefix.utf8), !isHistory
    else { return nil }
    return SharedForm(
      selecting: response.selection.fields.map(EntryFields.line), status: response.status,
      fields: info.fields, tags: info.tags, requested: times.request, received: times.response)
  }

  /// Returns whether other machines may have a response that is about to be stored.
  package func mayShare(_ plan: StoringPlan) -> Bool {
    EntryFields.url(of: plan.metadata).map { CacheRules.mayShare(plan.response, of: $0) } ?? false
  }

  /// Returns the data for storing a response of another machine; `nil` if the rules forbid it, the
  /// request does not select it, or it is no newer than what is stored.
  ///
  /// - Parameter now: The current time: the times of the response are moved to it if they are
  ///   later.
  package func adopting(
    _ form: SharedForm, for forwarding: Forwarding, now: Timestamp
  ) -> StoringPlan? {
    let request = forwarding.original
    guard let (response, times) = form.response(of: request.url, rules, now: now),
      isSelected(response.selection, by: request), isNewer(times.response, than: forwarding)
    else { return nil }
    var metadata = EntryFields.metadata(
      response, url: request.url, times: times, expires: rules.expiry(of: response))
    metadata.tags = form.tags
    return StoringPlan(
      key: forwarding.key, variant: Self.variant(response.selection, nil), metadata: metadata,
      response: response, prefix: nil)
  }

  private func isNewer(_ time: Timestamp, than forwarding: Forwarding) -> Bool {
    guard let stored = forwarding.selected?.base else { return true }
    return time > stored.times.response
  }
}

extension Forwarding {
  /// Whether the request needs the whole body: others do not justify the transfer of a long one.
  package var needsWhole: Bool { original.method == .get && !original.fields.contains("Range") }

  /// Whether other machines may have the answer: a `GET` or `HEAD` of what is not meant for one
  /// user, where nothing usable is stored.
  package var mayAskOthers: Bool {
    guard original.method == .get || original.method == .head,
      !original.fields.contains("Authorization"), completing == nil,
      // They may have the same response.
      selected?.base.response.isOutdated != true
    else { return false }
    switch reason {
    case .absent, .damaged, .otherVariant, .mustValidate(.stale), .mustValidate(.clockSetBack):
      return true
    default: return false
    }
  }
}
