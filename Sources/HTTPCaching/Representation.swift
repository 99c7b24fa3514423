import CacheFormat
import HTTPSemantics

/// Holds the stored responses that make one answer together: a whole one, or parts of one state of a
/// representation (RFC 9111, section 3.4).
struct Representation {
  /// The one whose fields and age count: the newest.
  var base: StoredVariant
  /// The parts, the base among them; empty where the base is whole.
  var parts: [StoredVariant] = []
  /// What of it answers the request.
  let answer: RangeAnswer

  /// Finds the newest that can answer a request; nil if none can.
  ///
  /// - Parameter matching: What the request selects, the newest first.
  init?(_ matching: [StoredVariant], _ request: HTTPRequest, now: HTTPDate) {
    for variant in matching {
      let parts = Self.parts(of: variant, matching)
      let answer =
        parts.isEmpty
        ? RangeAnswer.answer(
          to: request, from: variant.response, length: variant.length, now: now)
        : RangeAnswer.answer(to: request, fromParts: parts.map(\.response), now: now)
      if answer == .unanswerable { continue }
      self.init(base: variant, parts: parts, answer: answer)
      return
    }
    return nil
  }

  private init(base: StoredVariant, parts: [StoredVariant], answer: RangeAnswer) {
    self.base = base
    self.parts = parts
    self.answer = answer
  }

  /// Returns the parts that belong to the same state as one; none for one that is whole.
  private static func parts(
    of variant: StoredVariant, _ matching: [StoredVariant]
  ) -> [StoredVariant] {
    guard variant.response.status == 206 else { return [] }
    return matching.filter { other in
      other.info.variant == variant.info.variant
        || other.response.status == 206 && Parts.mayCombine(variant.response, other.response)
    }
  }

  /// Gives the complete length, where it is known.
  var completeLength: UInt64? {
    parts.isEmpty
      ? base.length : parts.lazy.compactMap(\.response.contentRange?.completeLength).first
  }
}
