package import CacheFormat
package import HTTPSemantics

/// Holds a response that another cache has kept and that moves into this one, without its body.
package struct KeptResponse: Sendable {
  /// Gives the request that was answered; its fields select (`Vary`).
  package var request: HTTPRequest
  /// Gives the head; its fields describe the body as it is stored.
  package var head: HTTPResponseHead
  /// Tells when it was asked for and received, as far as is known.
  package var times: ResponseTimes
  /// Tells until when the other cache calls it fresh; nil: the rules tell.
  package var expires: Timestamp?
  /// Gives what else is to be kept; names that begin with `http-` are left out.
  package var userInfo: [Field]

  /// Makes a response.
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
  /// Says where and with what a response of another cache is to be stored.
  ///
  /// It is stored even where this cache would not have kept it (RFC 9111, section 3), since it was
  /// kept: what is not fresh any more, or never was, is found by the policies that do not ask for
  /// that. An answer to `HEAD` gets a key of its own, so it never stands for the answer to a `GET`.
  ///
  /// - Returns: nil where no request could ever be answered with it (`Vary: *`).
  package func adopting(_ kept: KeptResponse) -> StoringPlan? {
    let request = kept.request
    guard
      let selection = Selection(
        varyOf: kept.head.fields, request: request.fields, and: implicitlySelecting(request),
        conceal: conceal)
    else { return nil }
    let selecting = Self.narrowed(selection, kept.head.fields)
    let fields = rules.fieldsToStore(kept.head.fields, receivedAt: kept.times.response.date)
    let response = StoredResponse(
      status: kept.head.status, fields: fields, requestTime: kept.times.request.date,
      responseTime: kept.times.response.date, selection: selecting,
      isPersonal: request.isPersonal, rules: rules)
    var metadata = EntryFields.metadata(
      response, url: request.url, times: kept.times, expires: kept.expires ?? expiry(of: response))
    metadata.userInfo += kept.userInfo.filter { !$0.name.bytes.starts(with: "http-".utf8) }
    return StoringPlan(
      key: request.method == .head ? keyRule.headKey(of: request) : key(of: request),
      variant: Self.variant(selecting, nil), metadata: metadata, response: response, prefix: nil)
  }

  /// Returns a selection without `Accept-Encoding` where the body is not coded: such a body suits
  /// every request, and the caches of others hand out decoded ones whatever was asked for.
  private static func narrowed(_ selection: Selection, _ fields: HTTPFields) -> Selection {
    if fields.contains("Content-Encoding") { return selection }
    return Selection(fields: selection.fields.filter { $0.name != "accept-encoding" })
  }

  /// Tells when the head of a stored response came; without a note of it, when it was stored.
  package func responseTime(of info: EntryInfo) -> Timestamp {
    EntryFields.responseTime(of: info)
  }
}
