/// The state of a representation whose first bytes are already there from an earlier response. It
/// decides whether more bytes belong to them (RFC 9110, sections 13.1.5 and 14).
package struct Resumption: Sendable {
  /// The way to use a response.
  package enum Answer: Sendable, Hashable {
    /// The body continues after the present bytes, up to the byte before `end`.
    case goOn(end: UInt64, completeLength: UInt64)
    /// The body is the whole representation, possibly a changed one.
    case startOver
    /// The body is useless: request the whole representation, without a range.
    case askForWhole
    /// All bytes are there: request the whole representation, unless it has not changed.
    case confirmWhole
    /// The status has no usable content: an error of the server or of the request.
    case refused
  }

  private let fields: HTTPFields
  private let validators: Validators
  private let offset: UInt64
  private let completeLength: UInt64?
  private let now: HTTPDate

  /// Creates the state; `nil` if there are no bytes, or if no strong validator identifies them.
  ///
  /// - Parameters:
  ///   - fields: The fields of the response that the bytes came with.
  ///   - offset: The number of bytes that are already there.
  ///   - completeLength: The length of the representation, if it is known.
  ///   - now: The current time, for interpreting two-digit years.
  package init?(
    of fields: HTTPFields, offset: UInt64, completeLength: UInt64?, now: HTTPDate
  ) {
    self.init(
      fields, Validators(fields, now: now), offset: offset, completeLength: completeLength,
      now: now)
  }

  /// Creates the state after a stored beginning; `nil` for another part, without a strong validator,
  /// and if the complete length is unknown.
  package init?(after stored: StoredResponse) {
    guard let part = stored.contentRange, part.first == 0, let length = part.completeLength,
      part.last + 1 < length
    else { return nil }
    self.init(
      stored.fields, Validators(stored), offset: part.count, completeLength: length,
      now: stored.responseTime)
  }

  private init?(
    _ fields: HTTPFields, _ validators: Validators, offset: UInt64, completeLength: UInt64?,
    now: HTTPDate
  ) {
    guard offset > 0, validators.isStrong else { return nil }
    self.fields = fields
    self.validators = validators
    self.offset = offset
    self.completeLength = completeLength
    self.now = now
  }

  /// Returns a request for the missing bytes. If the representation has changed, the server
  /// responds with all of it.
  package func request(_ request: HTTPRequest) -> HTTPRequest {
    // The initializer ensured that there is a validator.
    let name = validators.entityTag != nil ? "ETag" : "Last-Modified"
    guard let validator = fields.first(named: name) else {
      return request
    }
    return request.asking(forBytes: "\(offset)-", if: validator)
  }

  /// Decides how to use the response to ``request(_:)``.
  ///
  /// A 206 is used only if it begins with the first missing byte, has the same length, the same
  /// strong validator and the same content coding, and does not contradict itself. A 206 without a
  /// validator is not used, because the server may not support `If-Range`; a 416 seldom has one. If
  /// the complete length is unknown, no part can be recognised as the last one, so the body is not
  /// used. A 304 or 412 refers to conditions that the request did not have.
  package func judge(_ head: HTTPResponseHead) -> Answer {
    switch head.status {
    case 200, 203: return .startOver
    case 416 where completeLength == nil && isWhole(by: head): return .confirmWhole
    case 304, 412, 416: return .askForWhole
    case 206: break
    default: return .refused
    }
    guard let range = ContentRange(of: head.fields), range.first == offset,
      Validators(head.fields, now: now).matchStrongly(validators),
      PartialRefusal(of: head.fields, bodyLength: nil) == nil,
      head.fields.combinedValue(of: "Content-Encoding")
        == fields.combinedValue(of: "Content-Encoding"),
      let length = completeLength ?? range.completeLength,
      range.completeLength ?? length == length, range.last < length
    else { return .askForWhole }
    return .goOn(end: range.last + 1, completeLength: length)
  }

  /// Returns whether a 416 says that the representation has as many bytes as are there (RFC 9110,
  /// section 15.5.17).
  private func isWhole(by head: HTTPResponseHead) -> Bool {
    head.fields.only(named: "Content-Range")?.text
      == ContentRange.unsatisfiedFieldValue(completeLength: offset)
  }

  /// Returns whether a download with these fields can be resumed.
  package static func isPossible(_ fields: HTTPFields, now: HTTPDate) -> Bool {
    Validators(fields, now: now).isStrong
  }
}
