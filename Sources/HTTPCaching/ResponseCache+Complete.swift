import CacheFormat
import CacheStore
package import HTTPSemantics

// Completing a representation whose beginning is stored (RFC 9111, section 3.4).
extension ResponseCache {
  /// Returns the decision if the beginning of the representation is stored: a request for the rest.
  /// If the representation has changed, the origin responds with all of it. `nil` if there is no
  /// such beginning.
  func completing(_ matching: [StoredVariant], _ question: Question) -> Decision? {
    guard question.request.method == .get, question.policy == .protocolRules,
      !question.directives.noCache, !question.request.hasRangeOrCondition
    else { return nil }
    for variant in matching {
      guard mayReturn(variant, to: question.request),
        let resumption = Resumption(after: variant.response),
        case .success(let beginning) = opened(variant)
      else { continue }
      guard case .forward(var forwarding) = question.without(.otherPart) else { return nil }
      forwarding.request = resumption.request(question.request)
      forwarding.completing = beginning
      return .forward(forwarding)
    }
    return nil
  }

  /// Appends the rest to the stored beginning. Requests the whole representation instead if they do
  /// not belong together, or if the whole must not be stored, because only stored bytes are
  /// combined.
  func complete(
    _ beginning: StoredVariant, _ head: HTTPResponseHead, _ forwarding: Forwarding,
    _ times: ResponseTimes
  ) -> Receipt {
    if case .goOn(let end, let length)? = Resumption(after: beginning.response)?.judge(head),
      end == length, let body = beginning.body,
      beginning.length == beginning.response.contentRange?.count
    {
      var whole = HTTPResponseHead(
        status: 200,
        // All fields of the response, because fields that are not stored decide whether the rest
        // is.
        fields: Freshening.freshened(
          beginning.response.fields, by: head.fields, receivedAt: times.response.date))
      whole.fields.removeAll(named: "Content-Range")
      whole.fields.removeContentDigests()
      whole.fields.replace(with: HTTPField("Content-Length", String(length)))
      let prefix = BodySlice(body: body, range: 0..<beginning.length)
      let storing = storing(whole, forwarding, times, after: (beginning, prefix))
      if case .yes = storing { return .pass(whole, storing) }
    }
    return .again(forwarding.forWhole)
  }

  /// Removes a stored part whose representation has no more bytes, so that it has changed, and
  /// requests the whole one. The origin does not know `If-Range`, or it would have sent that.
  func withoutPart(_ beginning: StoredVariant, _ forwarding: Forwarding) -> Receipt {
    removeIfSame(beginning.info)
    return .again(forwarding.forWhole)
  }
}

extension Forwarding {
  /// The request for the whole representation, in place of one for its rest.
  var forWhole: Forwarding {
    var whole = self
    whole.request = original
    whole.completing = nil
    return whole
  }
}

extension HTTPRequest {
  /// Whether the response can be a 304.
  package var hasCondition: Bool {
    fields.contains("If-None-Match") || fields.contains("If-Modified-Since")
  }

  /// Whether the request is for a part, or has a condition, so that the response depends on the
  /// client.
  var hasRangeOrCondition: Bool { fields.contains("Range") || hasCondition }
}
