import CacheFormat
import CacheStore
import HTTPSemantics

extension ResponseCache {
  /// Makes the answer to a request from a stored response; nil if it has not the bytes that are
  /// asked for, or its file turns out to be damaged.
  func serving(
    _ variant: StoredVariant, _ request: HTTPRequest, at now: HTTPDate, isValidated: Bool = false
  ) -> Serving? {
    guard let body = variant.body else { return nil }
    let response = variant.response
    var head = HTTPResponseHead(
      status: response.status,
      fields: rules.fieldsToServe(response, at: now, validated: isValidated))
    let ttl =
      rules.freshnessLifetime(of: response).seconds - rules.currentAge(of: response, at: now)
    func serving(_ range: Range<UInt64>) -> Serving {
      let slices = range.isEmpty ? [] : [BodySlice(body: body, range: range)]
      return Serving(variant: variant, head: head, slices: slices, ttl: ttl, revalidation: nil)
    }
    if Preconditions.evaluate(request, against: response) == .notModified {
      head = Self.notModified(head)
      return serving(0..<0)
    }
    let whole = 0..<variant.length
    guard request.method == .get else {
      if let part = response.contentRange, !part.isWhole { return nil }
      setLength(&head, variant.length)
      return serving(0..<0)
    }
    switch RangeAnswer.decide(request, stored: response, length: variant.length) {
    case .whole:
      setLength(&head, variant.length)
      return serving(whole)
    case .part(let part, let offset):
      head.status = 206
      head.fields.replace(with: HTTPField("Content-Range", part.fieldValue))
      setLength(&head, part.count)
      return serving(offset..<offset + part.count)
    case .unsatisfiable(let length):
      head = Self.unsatisfiable(head, length)
      return serving(0..<0)
    case .unanswerable: return nil
    }
  }

  /// Chooses the newest response that can answer the request by itself.
  func chosen(_ matching: [StoredVariant], _ request: HTTPRequest) -> StoredVariant? {
    if matching.count == 1, matching[0].response.contentRange == nil { return matching[0] }
    return matching.first { variant in
      if request.method != .get { return variant.response.contentRange == nil }
      if case .unanswerable = RangeAnswer.decide(
        request, stored: variant.response, length: variant.length)
      {
        return false
      }
      return true
    }
  }

  private func setLength(_ head: inout HTTPResponseHead, _ length: UInt64) {
    if head.status == 204 { return }
    head.fields.replace(with: HTTPField("Content-Length", String(length)))
  }

  /// RFC 9110, section 15.4.5: a 304 has no content and nothing that describes it.
  private static func notModified(_ head: HTTPResponseHead) -> HTTPResponseHead {
    var head = head
    head.status = 304
    for name in ["Content-Length", "Content-Type", "Content-Encoding", "Content-Language"] {
      head.fields.removeAll(named: name)
    }
    return head
  }

  /// RFC 9110, section 15.5.17.
  private static func unsatisfiable(_ head: HTTPResponseHead, _ length: UInt64) -> HTTPResponseHead {
    var head = notModified(head)
    head.status = 416
    head.fields.replace(
      with: HTTPField(
        "Content-Range", ContentRange.unsatisfiedFieldValue(completeLength: length)))
    head.fields.append(HTTPField("Content-Length", "0"))
    return head
  }
}
