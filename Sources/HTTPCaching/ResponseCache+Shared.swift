package import CacheFormat
import CacheStore
import HTTPSemantics

/// A response in the form in which machines share it, without its body.
package struct SharedForm: Sendable {
  /// The request fields that select it, as `name:value`, or `name` if the request did not have the
  /// field.
  package var selecting: [ByteString]
  /// The status.
  package var status: Int
  /// The stored fields.
  package var fields: [Field]
  /// The tags.
  package var tags: [ByteString]
  /// The times at which it was requested and received.
  package var times: ResponseTimes

  /// Creates a form.
  package init(
    selecting: [ByteString], status: Int, fields: [Field], tags: [ByteString],
    times: ResponseTimes
  ) {
    self.selecting = selecting
    self.status = status
    self.fields = fields
    self.tags = tags
    self.times = times
  }
}

// Responses that machines share (CacheRules.mayShare).
extension ResponseCache {
  /// Returns the form of an entry in which other machines may have it; `nil` if they must not.
  package func sharedForm(of info: EntryInfo) -> SharedForm? {
    guard let response = EntryFields.response(of: info, rules),
      let url = EntryFields.url(of: info), CacheRules.mayShare(response, of: url),
      !info.key.bytes.starts(with: KeyRule.headPrefix.utf8)
    else { return nil }
    return SharedForm(
      selecting: response.selection.fields.map(EntryFields.line), status: response.status,
      fields: info.fields, tags: info.tags, times: EntryFields.times(of: info))
  }

  /// Returns the data for storing a response of another machine; `nil` if the rules forbid it, the
  /// request does not select it, or it is no newer than what is stored.
  ///
  /// - Parameter now: The current time: the times of the response are moved to it if they are
  ///   later.
  package func adopting(
    _ form: SharedForm, for forwarding: Forwarding, now: Timestamp
  ) -> StoringPlan? {
    let times = ResponseTimes(
      request: min(form.times.request, now), response: min(form.times.response, now))
    let received = HTTPFields(
      form.fields.map { HTTPField(name: $0.name.description, value: $0.value.bytes) })
    guard received.allSatisfy(\.isValid), let selection = EntryFields.selection(form.selecting)
    else { return nil }
    let fields = rules.fieldsToStore(received, receivedAt: times.response.date)
    let response = StoredResponse(
      status: form.status, fields: fields, requestTime: times.request.date,
      responseTime: times.response.date, selection: selection, rules: rules)
    let request = forwarding.original
    guard CacheRules.mayShare(response, of: request.url), rules.mayUse(response),
      isSelected(selection, by: request), isNewer(times.response, than: forwarding)
    else { return nil }
    var metadata = EntryFields.metadata(
      response, url: request.url, times: times, expires: expiry(of: response))
    metadata.tags = form.tags
    return StoringPlan(
      key: forwarding.key, variant: Self.variant(selection, nil), metadata: metadata,
      response: response, prefix: nil)
  }

  private func isNewer(_ time: Timestamp, than forwarding: Forwarding) -> Bool {
    guard let stored = forwarding.selected?.base else { return true }
    return time > EntryFields.responseTime(of: stored.info)
  }
}

extension Forwarding {
  /// Whether a stored response could have answered the request.
  package var hasStored: Bool { selected != nil }

  /// Whether other machines may have the answer: a plain `GET` of a whole response that is not
  /// meant for one user, where nothing usable is stored.
  package var mayAskOthers: Bool {
    guard original.method == .get, !original.fields.contains("Range"),
      !original.fields.contains("Authorization"), completing == nil
    else { return false }
    switch reason {
    case .absent, .damaged, .otherVariant, .mustValidate(.stale): return true
    default: return false
    }
  }
}
