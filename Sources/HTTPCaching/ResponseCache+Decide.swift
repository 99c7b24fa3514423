package import CacheFormat
import CacheStore
package import HTTPSemantics

extension ResponseCache {
  /// Decides how to handle a request (RFC 9111, section 4).
  ///
  /// - Parameters:
  ///   - hasBody: whether the request has a body.
  ///   - lifetime: the seconds for which a response may be used after it was received or last
  ///     confirmed, in place of the lifetime from the server; `nil` to use that. Applies to
  ///     ``CachePolicy/protocolRules``.
  ///   - now: the current time.
  /// - Complexity: O(number of variants), plus their look-up in the store.
  package func decide(
    _ request: HTTPRequest, hasBody: Bool = false, policy: CachePolicy = .protocolRules,
    lifetime: Int64? = nil, now: Timestamp
  ) -> Decision {
    let question = Question(
      request: request, key: key(of: request), directives: RequestDirectives(request.fields),
      policy: policy, lifetime: lifetime, now: now.date, implicit: implicitlySelecting(request))
    if let reason = bypass(request, hasBody: hasBody) { return question.without(reason) }
    switch policy {
    case .reload, .reloadFromOrigin: return question.without(.policy(policy))
    case .protocolRules where question.directives.noStore:
      return question.without(.requestNoStore)
    default: return decide(question)
    }
  }

  private func decide(_ question: Question) -> Decision {
    let found = find(
      question.request, question.key,
      takesOtherCodings: question.policy == .offline && rules.hasHistory)
    var question = question
    question.found = found
    question.found.matching = preferred(found.matching, at: question.now)
    if question.policy == .offline, let serving = remembered(question) { return .serve(serving) }
    if question.policy == .offline, found.reason == .absent, found.hasOtherHistory {
      question.found.reason = .otherVariant
    }
    let matching = question.found.matching
    guard let stored = Representation(matching, question.request, now: question.now) else {
      if let completing = completing(matching, question) { return completing }
      let reason = found.matching.isEmpty ? question.found.reason : .otherPart
      let others = found.others.filter { mayReturn($0, to: question.request) }
      return question.without(reason, validating: taggedWholes(others, question.request))
    }
    guard mayReturn(stored.base, to: question.request) else {
      return question.without(.refused)
    }
    return decide(question, stored)
  }

  /// Returns the responses that a request selects in the order of preference: if the newest is good and
  /// has no `Vary`, fresh ones that have it come first. Some servers omit the field in their default
  /// response (RFC 9111, section 4.1).
  private func preferred(_ matching: [StoredVariant], at now: HTTPDate) -> [StoredVariant] {
    guard matching.count > 1, let newest = matching.first?.response,
      CacheRules.isGood(newest.status), !newest.fields.contains("Vary")
    else { return matching }
    func isBetter(_ variant: StoredVariant) -> Bool {
      guard variant.response.fields.contains("Vary"),
        case .fresh = rules.reuse(of: variant.response, for: RequestDirectives(), at: now)
      else { return false }
      return true
    }
    return matching.filter(isBetter) + matching.filter { !isBetter($0) }
  }

  /// Returns whether the program lets a stored response be returned.
  func mayReturn(_ variant: StoredVariant, to request: HTTPRequest) -> Bool {
    mayReturnStored?(request, head(of: variant)) ?? true
  }

  func head(of variant: StoredVariant) -> HTTPResponseHead {
    HTTPResponseHead(status: variant.response.status, fields: variant.response.fields)
  }

  private func decide(_ question: Question, _ stored: Representation) -> Decision {
    var stored = stored
    switch opened(stored.base) {
    case .failure(let reason):
      return remembered(insteadOfDamaged: question).map { .serve($0) } ?? question.without(reason)
    case .success(let base): stored.base = base
    }
    let reuse = reuse(of: stored.base, question)
    if case .mustValidate(let reason) = reuse {
      let why: ForwardReason =
        question.policy == .revalidate ? .policy(.revalidate) : .mustValidate(reason)
      return question.without(why, selected: stored)
    }
    guard var serving = serving(stored, question.request, at: question.now) else {
      return remembered(insteadOfDamaged: question).map { .serve($0) }
        ?? question.without(.damaged)
    }
    if case .stale(let seconds, .staleWhileRevalidate) = reuse, question.policy.allowsNetwork,
      !question.directives.onlyIfCached
    {
      serving.revalidation = question.forwarding(
        .mustValidate(.stale(by: seconds)), selected: stored, validating: [])
    }
    return .serve(serving)
  }

  /// Returns how a stored response may be used with the caller's policy.
  ///
  /// The result states whether it is fresh; the duration is not always right.
  private func reuse(of variant: StoredVariant, _ question: Question) -> Reuse {
    switch question.policy {
    case .offline where !rules.forbidsForcedStaleness(of: variant.response):
      return .fresh(ttl: 0)
    case .revalidate: return .mustValidate(.requestNoCache)
    case .storedElseLoad, .storedOnly, .offline:
      let reuse = rules.reuse(of: variant.response, for: RequestDirectives([]), at: question.now)
      // Ignores the age, but not the requirement of a validation.
      if case .mustValidate = reuse,
        rules.mayServeStale(
          variant.response, for: RequestDirectives([]), at: question.now, after: .unreachable)
      {
        return .fresh(ttl: 0)
      }
      return reuse
    case .protocolRules, .reload, .reloadFromOrigin:
      if let lifetime = question.lifetime {
        return rules.reuse(
          of: variant.response, for: question.directives, lifetime: lifetime, at: question.now)
      }
      return rules.reuse(of: variant.response, for: question.directives, at: question.now)
    }
  }

  /// Returns why the store cannot be used for a request; `nil` if it can.
  private func bypass(_ request: HTTPRequest, hasBody: Bool) -> ForwardReason? {
    guard request.method == .get || request.method == .head else {
      return .method(request.method.rawValue)
    }
    if hasBody { return .requestBody }
    // RFC 9111, section 4.3.2: conditions that only an origin can evaluate.
    for name in ["If-Match", "If-Unmodified-Since"] where request.fields.contains(name) {
      return .condition(name)
    }
    return nil
  }

  /// Returns the responses of other selections whose tags the origin may confirm for this request,
  /// too (RFC 9111, section 4.3.1).
  ///
  /// Weak tags are excluded, because they do not imply equal bytes. So are responses that a field
  /// selects which may be a credential: a server may use one tag for the pages of all its users, and
  /// one user must not get the page of another. The same holds for the hosts of a server.
  private func taggedWholes(
    _ others: [StoredVariant], _ request: HTTPRequest
  ) -> [StoredVariant] {
    guard implicitlySelecting(request).isEmpty else { return [] }
    return Array(
      others.filter { variant in
        variant.response.status == 200 && variant.response.facts.entityTag?.isStrong == true
          && !variant.response.selection.fields.contains {
            HTTPFields.mayBeCredential($0.name)
              && ($0.value != nil || request.fields.contains($0.name))
          }
      }.prefix(Self.maximumTags))
  }

  /// The maximum number of responses of other selections whose tags are sent.
  private static let maximumTags = 8
}

/// A request during its decision.
struct Question {
  let request: HTTPRequest
  let key: ByteString
  let directives: RequestDirectives
  let policy: CachePolicy
  let lifetime: Int64?
  let now: HTTPDate
  /// The names of fields that select even if `Vary` does not contain them.
  let implicit: [String]
  /// The stored responses of the key, once they have been looked up.
  var found = FoundVariants()

  /// Returns the decision for a request that the store does not answer.
  func without(
    _ reason: ForwardReason, selected: Representation? = nil, validating: [StoredVariant] = []
  ) -> Decision {
    guard policy.allowsNetwork, !directives.onlyIfCached else { return .refuse(reason) }
    return .forward(forwarding(reason, selected: selected, validating: validating))
  }

  func forwarding(
    _ reason: ForwardReason, selected: Representation?, validating: [StoredVariant]
  ) -> Forwarding {
    var validating = selected.map { [$0.base] } ?? validating
    var sent = unconditional.validating(validating.map(\.response))
    if sent == unconditional {
      // No stored response can be confirmed: a 304 would refer to the caller's copy.
      validating = []
      sent = request
    }
    if policy == .reloadFromOrigin {
      sent.fields.replace(with: HTTPField("Cache-Control", "no-cache"))
      sent.fields.replace(with: HTTPField("Pragma", "no-cache"))
    }
    var forwarding = Forwarding(
      original: request, request: sent, reason: reason, key: key, validating: validating,
      selected: selected, isShareable: isShareable(reason), selection: knownSelection)
    if policy.usesLifetime { forwarding.lifetime = lifetime }
    // The other policies want the origin's answer, or none.
    if policy == .protocolRules || policy == .storedElseLoad { forwarding.history = found.history }
    return forwarding
  }

  /// The fields that select a response to the request, as far as the stored responses show. The
  /// values are only used in memory, so they are not concealed.
  private var knownSelection: Selection {
    let variants = found.matching + found.others
    let names = Set(variants.flatMap { $0.response.selection.fields.map(\.name) })
    let vary = HTTPField("Vary", names.joined(separator: ","))
    return Selection(
      varyOf: [vary], request: request.fields, and: implicit, conceal: { $0 }) ?? .none
  }

  /// The request without the conditions that are replaced by those for stored responses.
  private var unconditional: HTTPRequest {
    var bare = request
    bare.fields.removeAll(named: "If-None-Match")
    bare.fields.removeAll(named: "If-Modified-Since")
    return bare
  }

  /// Returns whether other requests may wait for this response: the request is for the whole
  /// representation and has no condition of its own.
  private func isShareable(_ reason: ForwardReason) -> Bool {
    guard request.method == .get else { return false }
    switch reason {
    case .method, .requestBody, .condition, .requestNoStore, .refused, .policy: return false
    // The response to another request is never a validation for this one.
    case .mustValidate(.noCache): return false
    default: break
    }
    return !directives.noCache && directives.maxAge != 0 && !request.hasRangeOrCondition
  }
}
