package import CacheFormat
package import HTTPSemantics

/// A response from another cache, without its body, that is to be moved into this cache.
package struct KeptResponse: Sendable {
  /// The request of the response; its fields select (`Vary`).
  package var request: HTTPRequest
  /// The head; its fields describe the body as it is stored.
  package var head: HTTPResponseHead
  /// The times at which it was requested and received, as far as they are known.
  package var times: ResponseTimes
  /// The time until which the other cache considers it fresh; `nil` to use the rules.
  package var expires: Timestamp?
  /// Additional user info; names that begin with `http-` are left out.
  package var userInfo: [Field]

  package init(
    request: HTTPRequest, head: HTTPResponseHead, times: ResponseTimes, expires: Timestamp? = nil,
    userInfo: [Field] = []
  ) {
    self.request = request
    self.head = head
    self.times = times
    self.expires = expires
    self.userInfo = userInfo
  }
}

extension ResponseCache {
  /// Returns the key and the metadata for storing a response of another cache.
  ///
  /// It is stored even if this cache would not have stored it (RFC 9111, section 3). A response
  /// that is stale, or never was fresh, is found by the policies that ignore freshness. A response
  /// to `HEAD` gets its own key, so it is never used as a response to `GET`.
  ///
  /// - Returns: `nil` if it could not answer any request (`Vary: *`).
  package func adopting(_ kept: KeptResponse) -> StoringPlan? {
    selection(varyOf: kept.head.fields, by: kept.request).map {
      Self.adopting(kept, selectedBy: $0, rules, keyRule)
    }
  }

  /// Returns the key and the metadata for a store that need not exist.
  ///
  /// - Parameters:
  ///   - kept: The response.
  ///   - selection: The fields that select it, with the secrets concealed.
  ///   - rules: The rules of the cache.
  ///   - keyRule: Makes the key.
  package static func adopting(
    _ kept: KeptResponse, selectedBy selection: Selection, _ rules: CacheRules,
    _ keyRule: KeyRule = .url
  ) -> StoringPlan {
    let request = kept.request
    let selecting = Self.narrowed(selection, kept.head.fields)
    // Its `Date` may be that of a 304, so the time of the bytes is not known.
    let response = StoredResponse(
      status: kept.head.status,
      fields: rules.fieldsToStore(kept.head.fields, receivedAt: kept.times.response.date),
      requestTime: kept.times.request.date, responseTime: kept.times.response.date,
      selection: selecting, isPersonal: request.isPersonal, mayBePersonal: request.mayBePersonal,
      rules: rules)
    var metadata = EntryFields.metadata(
      response, url: request.url, times: kept.times,
      expires: kept.expires ?? rules.expiry(of: response))
    metadata.userInfo += kept.userInfo.filter { !$0.name.bytes.starts(with: "http-".utf8) }
    return StoringPlan(
      key: request.method == .head ? keyRule.headKey(of: request) : keyRule.key(of: request),
      variant: Self.variant(selecting, nil), metadata: metadata, response: response, prefix: nil)
  }

  /// Returns the selection without `Accept-Encoding` if the body is not coded. Such a body suits
  /// every request, and other caches return decoded bodies whatever was requested.
  private static func narrowed(_ selection: Selection, _ fields: HTTPFields) -> Selection {
    if fields.contains("Content-Encoding") { return selection }
    return Selection(fields: selection.fields.filter { $0.name != "accept-encoding" })
  }
}
