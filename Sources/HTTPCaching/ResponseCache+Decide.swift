package import CacheFormat
import CacheStore
package import HTTPSemantics

extension ResponseCache {
  /// Decides what is to be done with a request (RFC 9111, section 4).
  ///
  /// - Parameters:
  ///   - hasBody: tells whether content goes with the request.
  ///   - lifetime: for how many seconds a response is good after it came or was last confirmed,
  ///     whatever its server says; nil: as the server says. Counts with ``CachePolicy/protocolRules``.
  ///   - now: tells the time.
  /// - Complexity: O(number of variants), and what the store takes to look them up.
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
    let found = find(question.request, question.key)
    var question = question
    question.found = found
    guard let stored = Representation(found.matching, question.request, now: question.now) else {
      if let completing = completing(found.matching, question) { return completing }
      let reason = found.matching.isEmpty ? found.reason : .otherPart
      return question.without(reason, validating: taggedWholes(found.others, question.request))
    }
    guard mayReturnStored?(question.request, head(of: stored.base)) ?? true else {
      return question.without(.refused)
    }
    return decide(question, stored)
  }

  func head(of variant: StoredVariant) -> HTTPResponseHead {
    HTTPResponseHead(status: variant.response.status, fields: variant.response.fields)
  }

  private func decide(_ question: Question, _ stored: Representation) -> Decision {
    var stored = stored
    switch opened(stored.base) {
    case .failure(let nothing): return question.without(nothing.reason)
    case .success(let base): stored.base = base
    }
    let reuse = reuse(of: stored.base, question)
    if case .mustValidate(let reason) = reuse {
      let why: ForwardReason =
        question.policy == .revalidate ? .policy(.revalidate) : .mustValidate(reason)
      return question.without(why, selected: stored)
    }
    guard var serving = serving(stored, question.request, at: question.now) else {
      return question.without(.damaged)
    }
    if case .stale(let seconds, .staleWhileRevalidate) = reuse, question.policy.allowsNetwork {
      serving.revalidation = question.forwarding(
        .mustValidate(.stale(by: seconds)), selected: stored, validating: [])
    }
    return .serve(serving)
  }

  /// Tells how a stored response may be used, with the caller's policy.
  ///
  /// Whether it is fresh counts here, for how long does not.
  private func reuse(of variant: StoredVariant, _ question: Question) -> Reuse {
    switch question.policy {
    case .offline where !rules.forbidsForcedStaleness(of: variant.response):
      return .fresh(ttl: 0)
    case .revalidate: return .mustValidate(.requestNoCache)
    case .storedElseLoad, .storedOnly, .offline:
      let reuse = rules.reuse(of: variant.response, for: RequestDirectives([]), at: question.now)
      // Age is ignored, demands for validation are not.
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

  /// Returns why a request has nothing to do with the store; nil if it has.
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

  /// Returns those of other selections whose tags the origin may confirm for this request, too
  /// (RFC 9111, section 4.3.1).
  ///
  /// Weak tags do not say that the bytes are the same. Where credentials select there are none: a
  /// server that gives the pages of all its users one tag must not make the page of one the answer
  /// to another.
  private func taggedWholes(
    _ others: [StoredVariant], _ request: HTTPRequest
  ) -> [StoredVariant] {
    guard implicitlySelecting(request).isEmpty else { return [] }
    return Array(
      others.filter { variant in
        variant.response.status == 200 && variant.response.facts.entityTag?.isStrong == true
          && !variant.response.selection.fields.contains { SelectingValue.isCredential($0.name) }
      }.prefix(Self.maximumTags))
  }

  /// The most tags that are sent in one request.
  private static let maximumTags = 8
}

/// Holds a request while it is decided on.
struct Question {
  let request: HTTPRequest
  let key: ByteString
  let directives: RequestDirectives
  let policy: CachePolicy
  let lifetime: Int64?
  let now: HTTPDate
  /// The names of fields that select even where `Vary` does not name them.
  let implicit: [String]
  /// What is stored for the key, once it has been looked up.
  var found = FoundVariants()

  /// Returns what is to be done when the store does not answer.
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
      // Nothing stored can be confirmed: a 304 would be about what the caller has.
      validating = []
      sent = request
    }
    if policy == .reloadFromOrigin {
      sent.fields.replace(with: HTTPField("Cache-Control", "no-cache"))
      sent.fields.replace(with: HTTPField("Pragma", "no-cache"))
    }
    return Forwarding(
      original: request, request: sent, reason: reason, key: key, validating: validating,
      selected: selected, isShareable: isShareable(reason), selection: knownSelection)
  }

  /// What selects an answer to the request, as far as what is stored tells. Stays in memory, so
  /// nothing is concealed.
  private var knownSelection: Selection {
    let variants = found.matching + found.others
    let names = Set(variants.flatMap { $0.response.selection.fields.map(\.name) })
    let vary = HTTPField("Vary", names.joined(separator: ","))
    return Selection(
      varyOf: [vary], request: request.fields, and: implicit, conceal: { $0 }) ?? .none
  }

  /// Gives the request without the conditions that those of stored responses take the place of.
  private var unconditional: HTTPRequest {
    var bare = request
    bare.fields.removeAll(named: "If-None-Match")
    bare.fields.removeAll(named: "If-Modified-Since")
    return bare
  }

  /// Tells whether others may wait for this answer: those that ask for the whole, with no condition
  /// of their own.
  private func isShareable(_ reason: ForwardReason) -> Bool {
    guard request.method == .get, policy != .reload, policy != .reloadFromOrigin else {
      return false
    }
    switch reason {
    case .method, .requestBody, .condition, .requestNoStore, .refused, .policy: return false
    // The answer to another request is never a validation for this one.
    case .mustValidate(.noCache): return false
    default: break
    }
    return !directives.noCache && directives.maxAge != 0 && !request.hasRangeOrCondition
  }
}
