import CacheFormat
import CacheStore
package import HTTPSemantics

// Completing a stored beginning (RFC 9111, section 3.4).
extension ResponseCache {
  /// Returns what to send when the beginning of what is asked for is stored: a request for the rest,
  /// which the origin answers with all of it where it has changed. Nil if there is no such
  /// beginning.
  func completing(_ matching: [StoredVariant], _ question: Question) -> Decision? {
    guard question.request.method == .get, question.policy == .protocolRules,
      !question.directives.noCache, !question.request.hasRangeOrCondition
    else { return nil }
    for variant in matching {
      guard let part = variant.response.contentRange, part.first == 0,
        let length = part.completeLength, part.last + 1 < length,
        let rest = question.request.completing(part.last + 1...length - 1, of: variant.response),
        case .success(let beginning) = opened(variant)
      else { continue }
      guard case .forward(var forwarding) = question.without(.otherPart) else { return nil }
      forwarding.request = rest
      forwarding.completing = beginning
      return .forward(forwarding)
    }
    return nil
  }

  /// Puts the rest behind the stored beginning; asks for the whole where they do not fit together, or
  /// where the whole must not be stored: only what is stored is put together.
  func complete(
    _ beginning: StoredVariant, _ head: HTTPResponseHead, _ forwarding: Forwarding,
    _ times: ResponseTimes
  ) -> Receipt {
    let now = times.response.date
    let fields = rules.fieldsToStore(head.fields, receivedAt: now)
    let rest = StoredResponse(
      status: 206, fields: fields, requestTime: times.request.date, responseTime: now,
      selection: beginning.response.selection, rules: rules)
    if let first = beginning.response.contentRange, let second = rest.contentRange,
      second.first == first.last + 1, second.last + 1 == first.completeLength,
      Parts.mayCombine(beginning.response, rest), let body = beginning.body
    {
      var whole = HTTPResponseHead(
        status: 200,
        // With all fields of the answer: those that are not stored decide on whether the rest is.
        fields: Freshening.freshened(beginning.response.fields, by: head.fields, receivedAt: now))
      whole.fields.removeAll(named: "Content-Range")
      whole.fields.replace(with: HTTPField("Content-Length", String(second.last + 1)))
      let prefix = BodySlice(body: body, range: 0..<first.count)
      let storing = storing(whole, forwarding, times, after: (beginning, prefix))
      if case .yes = storing { return .pass(whole, storing) }
    }
    var again = forwarding
    again.request = forwarding.original
    again.completing = nil
    return .again(again)
  }
}

extension HTTPRequest {
  /// Tells whether a 304 can be the answer.
  package var hasCondition: Bool {
    fields.contains("If-None-Match") || fields.contains("If-Modified-Since")
  }

  /// Tells whether the request asks for a part, or for an answer that depends on what the client
  /// has.
  var hasRangeOrCondition: Bool { fields.contains("Range") || hasCondition }
}
