import CacheFormat
import HTTPSemantics

/// The stored responses that together answer a request: a whole one, or parts of one state of a
/// representation (RFC 9111, section 3.4).
struct Representation {
  /// The newest one; its fields and its age are used.
  var base: StoredVariant
  /// The parts, including the base; empty if the base is whole.
  var parts: [StoredVariant] = []
  let answer: RangeAnswer

  /// Finds the newest representation that can answer a request; `nil` if there is none.
  ///
  /// - Parameter matching: The responses that the request selects, the newest first.
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

  /// Returns the parts of the same state as a part; none for a whole response.
  private static func parts(
    of variant: StoredVariant, _ matching: [StoredVariant]
  ) -> [StoredVariant] {
    guard variant.response.status == 206 else { return [] }
    return matching.filter { other in
      // A response that is in memory only may have the same number.
      other === variant
        || other.response.status == 206 && Parts.mayCombine(variant.response, other.response)
    }
  }

  var completeLength: UInt64? {
    parts.isEmpty
      ? base.length : parts.lazy.compactMap(\.response.contentRange?.completeLength).first
  }
}
