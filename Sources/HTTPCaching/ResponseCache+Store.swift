import CacheFormat
import CacheStore
import HTTPSemantics

extension ResponseCache {
  /// Returns whether a response is stored, with its key and metadata (RFC 9111, section 3).
  func storing(
    _ head: HTTPResponseHead, _ forwarding: Forwarding, _ times: ResponseTimes,
    after beginning: (variant: StoredVariant, body: BodySlice)? = nil
  ) -> Storing {
    let request = forwarding.original
    // The body is not part of the key, so the response would be served for requests with other
    // bodies.
    if forwarding.reason == .requestBody { return .no(.requestBody) }
    if let reason = rules.whyNotStored(request, head, now: times.response.date) {
      return remembering(head, forwarding, times, reason)
    }
    guard let selection = selection(varyOf: head.fields, by: request) else { return .no(.varyAll) }
    let response = StoredResponse(
      head, to: request, times, selection: selection, bytesOf: beginning?.variant.response,
      rules: rules)
    let metadata = EntryFields.metadata(
      response, url: request.url, times: times, expires: rules.expiry(of: response))
    // The response to a POST is stored under the key of a GET.
    let key =
      request.method == .get
      ? forwarding.key : key(of: HTTPRequest(url: request.url, fields: request.fields))
    return .yes(
      StoringPlan(
        key: key, variant: Self.variant(selection, response.contentRange),
        metadata: metadata, response: response, prefix: beginning?.body))
  }

  /// Returns the number of the variant: 0 for a whole response that every request selects,
  /// otherwise a digest of the selecting fields and, for a part, of the position of its first byte.
  static func variant(_ selection: Selection, _ part: ContentRange?) -> UInt64 {
    if selection.fields.isEmpty, part == nil { return 0 }
    var text: [UInt8] = []
    for field in selection.fields {
      text += EntryFields.line(field).bytes
      text.append(0)
    }
    if let part { text += "bytes \(part.first)".utf8 }
    // 0 means that there is only one variant.
    return max(1, Digest(hashing: text).low)
  }
}
