/// The reason why a 206 response is not stored: the position of its bytes is uncertain (RFC 9110,
/// section 14.4; RFC 9111, section 3.3).
public enum PartialRefusal: Sendable, Hashable, CustomStringConvertible {
  /// It has no `Content-Range`.
  case noContentRange
  /// It has several parts in one body (`multipart/byteranges`).
  case severalParts
  /// Its `Content-Range` is repeated, malformed or contradictory.
  case malformedContentRange
  /// Its `Content-Range` has another length than its body.
  case otherLength(told: UInt64, found: UInt64)

  /// Checks a 206 response; `nil` if the position of its bytes is known.
  ///
  /// - Parameters:
  ///   - fields: The fields of the response.
  ///   - bodyLength: The number of bytes of the body; `nil` if the body is not complete yet. Then
  ///     only `Content-Length` is checked.
  public init?(of fields: HTTPFields, bodyLength: UInt64?) {
    // RFC 9110, section 15.3.7.2: a response with several parts has no `Content-Range` of its own.
    // If it has one, that does not describe the bytes of the body.
    let type = fields.first(named: "Content-Type")?.value ?? []
    guard !FieldBytes.starts(FieldBytes.trimmed(type[...]), withLowercase: "multipart/byteranges")
    else {
      self = .severalParts
      return
    }
    guard fields.contains("Content-Range") else {
      self = .noContentRange
      return
    }
    guard let range = ContentRange(of: fields) else {
      self = .malformedContentRange
      return
    }
    guard let found = bodyLength ?? fields.contentLength, found != range.count else { return nil }
    self = .otherLength(told: range.count, found: found)
  }

  /// The reason as text for people.
  public var description: String {
    switch self {
    case .noContentRange: "a partial response without Content-Range"
    case .severalParts: "a partial response with several parts in one body"
    case .malformedContentRange: "a partial response with a malformed Content-Range"
    case .otherLength(let told, let found):
      "a partial response of \(found) bytes whose Content-Range says \(told)"
    }
  }
}
