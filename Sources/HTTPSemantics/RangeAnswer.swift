/// The response to a request, possibly with a range, from the stored bytes (RFC 9111, section 3.3;
/// RFC 9110, sections 13.1.5 and 14.2).
public enum RangeAnswer: Sendable, Hashable {
  /// The whole stored representation, with its own status.
  case whole
  /// These positions of the representation, with 206 and a `Content-Range`.
  case part(ClosedRange<UInt64>)
  /// No bytes, with 416 and `Content-Range: bytes */length`.
  case unsatisfiable(length: UInt64)
  /// None: some of the requested bytes are not stored.
  case unanswerable

  /// Decides for a stored response with a complete body.
  ///
  /// - Parameters:
  ///   - request: The request with the range.
  ///   - stored: The stored response, which may be used for the request.
  ///   - length: The number of bytes of its body.
  ///   - now: The current time, for interpreting two-digit years.
  /// - Complexity: O(*n*) in the number of fields.
  public static func answer(
    to request: HTTPRequest, from stored: StoredResponse, length: UInt64, now: HTTPDate
  ) -> RangeAnswer {
    // A range applies only if the response without it would be 200 (RFC 9110, section 14.2).
    guard stored.status == 200, let wish = ByteRange(of: request),
      ifRangeHolds(request.fields, for: stored, now: now)
    else { return .whole }
    if let range = wish.resolve(length: length) { return .part(range) }
    // A suffix of an empty body is the whole body, and no Content-Range can describe it.
    if case .suffix(let count) = wish, count > 0 { return .whole }
    return .unsatisfiable(length: length)
  }

  /// Decides for stored 206 responses that may be used for the request and may be combined; see
  /// ``Parts/mayCombine(_:_:)``.
  ///
  /// - Parameters:
  ///   - request: The request with the range.
  ///   - parts: The stored 206 responses.
  ///   - now: The current time, for interpreting two-digit years.
  /// - Complexity: O(*n* log *n*) in the number of parts, O(*m*) in that of fields.
  public static func answer(
    to request: HTTPRequest, fromParts parts: [StoredResponse], now: HTTPDate
  ) -> RangeAnswer {
    let held = parts.compactMap(\.contentRange)
    guard let first = parts.first, held.count == parts.count,
      request.method == .get || request.method == .head
    else { return .unanswerable }
    let length = held.lazy.compactMap(\.completeLength).first
    if let wish = ByteRange(of: request),
      ifRangeHolds(request.fields, for: first, now: now)
    {
      return answer(wish, held, length: length)
    }
    guard let length else { return .unanswerable }
    return isCovered(0...(length - 1), by: held) ? .whole : .unanswerable
  }

  private static func answer(
    _ wish: ByteRange, _ held: [ContentRange], length: UInt64?
  ) -> RangeAnswer {
    let range: ClosedRange<UInt64>
    if let length {
      guard let resolved = wish.resolve(length: length) else {
        return .unsatisfiable(length: length)
      }
      range = resolved
    } else if case .between(let first, let last) = wish {
      range = first...last
    } else {
      // Without a known length, positions cannot be counted from the end.
      return .unanswerable
    }
    return isCovered(range, by: held) ? .part(range) : .unanswerable
  }

  private static func isCovered(_ range: ClosedRange<UInt64>, by held: [ContentRange]) -> Bool {
    Parts.cover(range, by: held).allSatisfy { piece in
      if case .stored = piece { true } else { false }
    }
  }

  /// Returns whether the range applies according to `If-Range`: it is absent, or it identifies
  /// exactly the stored bytes.
  ///
  /// Only a strong validator can do that (RFC 9110, section 13.1.5).
  private static func ifRangeHolds(
    _ fields: HTTPFields, for stored: StoredResponse, now: HTTPDate
  ) -> Bool {
    guard fields.contains("If-Range") else { return true }
    guard let value = fields.only(named: "If-Range")?.value else { return false }
    if let tag = EntityTag(value), tag.isWellFormed {
      return stored.facts.entityTag?.matchesStrongly(tag) ?? false
    }
    guard let date = HTTPDate(value, now: now) else { return false }
    return Validators(stored).hasStrongDate && stored.facts.lastModified == date
  }
}

extension HTTPFields {
  /// Removes the digests of a message's content, because the content changes (RFC 9530, section 2).
  package mutating func removeContentDigests() {
    removeAll(named: "Content-Digest")
    removeAll(named: "Content-MD5")
  }
}

extension HTTPResponseHead {
  /// Makes the head of a whole response that of the 206 or 416 which an answer needs.
  ///
  /// - Returns: The offsets of the bytes to send, none for a 416. `nil`, with the head unchanged, for
  ///   other answers, and for a part that no `Content-Range` can describe.
  package mutating func limit(
    to answer: RangeAnswer, completeLength: UInt64?
  ) -> Range<UInt64>? {
    switch answer {
    case .whole, .unanswerable: return nil
    case .part(let range):
      guard
        let part = ContentRange(
          first: range.lowerBound, last: range.upperBound, completeLength: completeLength)
      else { return nil }
      status = 206
      fields.removeContentDigests()
      fields.replace(with: HTTPField("Content-Range", part.fieldValue))
      fields.replace(with: HTTPField("Content-Length", String(part.count)))
      return range.lowerBound..<range.upperBound + 1
    case .unsatisfiable(let length):
      status = 416
      fields = Preconditions.notModifiedFields(of: fields)
      let value = ContentRange.unsatisfiedFieldValue(completeLength: length)
      fields.replace(with: HTTPField("Content-Range", value))
      fields.replace(with: HTTPField("Content-Length", "0"))
      return 0..<0
    }
  }
}
