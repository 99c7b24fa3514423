/// Says what is there of a representation whose first bytes came in an earlier answer, and judges
/// whether more bytes belong to them (RFC 9110, sections 13.1.5 and 14).
package struct Resumption: Sendable {
  /// Says what is to be done with an answer.
  package enum Answer: Sendable, Hashable {
    /// The body goes on where the bytes end, up to the byte before `end`.
    case goOn(end: UInt64, completeLength: UInt64)
    /// The body is the whole representation, perhaps another one.
    case startOver
    /// The body is of no use: ask for the whole, without a range.
    case askForWhole
    /// The status is no content: an error of the server or of the request.
    case refused
  }

  private let fields: HTTPFields
  private let offset: UInt64
  private let completeLength: UInt64?
  private let now: HTTPDate

  /// Makes one; nil where there are no bytes, or no strong validator tells whether others belong to
  /// them.
  ///
  /// - Parameters:
  ///   - fields: Those of the answer that the bytes came with.
  ///   - offset: Counts the bytes that are there.
  ///   - completeLength: The length of the representation, where it is known.
  ///   - now: The time of this clock, for dates with two digits of the year.
  package init?(
    of fields: HTTPFields, offset: UInt64, completeLength: UInt64?, now: HTTPDate
  ) {
    guard offset > 0, Validators(fields, now: now).isStrong else { return nil }
    self.fields = fields
    self.offset = offset
    self.completeLength = completeLength
    self.now = now
  }

  /// Returns a request for the bytes that are missing; for the whole if the representation has
  /// changed.
  package func request(_ request: HTTPRequest) -> HTTPRequest {
    let hasTag = Validators(fields, now: now).entityTag != nil
    // There is one, as the initializer has made sure.
    guard let validator = fields.first(named: hasTag ? "ETag" : "Last-Modified") else {
      return request
    }
    return request.asking(forBytes: "\(offset)-", if: validator)
  }

  /// Judges the head of the answer to ``request(_:)``.
  ///
  /// A 206 goes on only where it begins with the first byte that is missing, states the same length
  /// and the same strong validator, is coded as the bytes are, and contradicts itself nowhere. A
  /// server that leaves the validator out is not believed: it may not know `If-Range`. Where nobody
  /// has told the complete length, no part can be known to be the last one. A 304 or 412 speaks of
  /// conditions that were not asked for.
  package func judge(_ head: HTTPResponseHead) -> Answer {
    switch head.status {
    case 200, 203: return .startOver
    case 304, 412, 416: return .askForWhole
    case 206: break
    default: return .refused
    }
    guard let range = ContentRange(of: head.fields), range.first == offset,
      Validators(head.fields, now: now).matchStrongly(Validators(fields, now: now)),
      PartialRefusal(of: head.fields, bodyLength: nil) == nil,
      head.fields.combinedValue(of: "Content-Encoding")
        == fields.combinedValue(of: "Content-Encoding"),
      let length = completeLength ?? range.completeLength,
      range.completeLength ?? length == length, range.last < length
    else { return .askForWhole }
    return .goOn(end: range.last + 1, completeLength: length)
  }

  /// Tells whether bytes with these fields could be gone on with.
  package static func isPossible(_ fields: HTTPFields, now: HTTPDate) -> Bool {
    Validators(fields, now: now).isStrong
  }
}
