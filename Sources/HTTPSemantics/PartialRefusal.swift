/// Tells why a 206 response is never stored: nothing says for sure which bytes it holds (RFC 9110,
/// section 14.4; RFC 9111, section 3.3).
public enum PartialRefusal: Sendable, Hashable, CustomStringConvertible {
  /// It has no `Content-Range`.
  case noContentRange
  /// It has several parts in one body (`multipart/byteranges`).
  case severalParts
  /// Its `Content-Range` is there more than once, malformed or contradicts itself.
  case malformedContentRange
  /// Its `Content-Range` tells of another number of bytes than it has.
  case otherLength(told: UInt64, found: UInt64)

  /// Examines a 206 response; nil if its bytes have a known place.
  ///
  /// - Parameters:
  ///   - fields: Its fields.
  ///   - bodyLength: The bytes of the body; nil while it has not come to its end, when only
  ///     `Content-Length` can be examined.
  public init?(of fields: HTTPFields, bodyLength: UInt64?) {
    // RFC 9110, section 15.3.7.2: several parts have no `Content-Range` around them, and one that is
    // there says nothing of the bytes that follow.
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

  /// Says what is wrong.
  public var description: String {
    switch self {
    case .noContentRange: "a partial response without Content-Range"
    case .severalParts: "a partial response with several parts in one body"
    case .malformedContentRange: "a partial response with a malformed Content-Range"
    case .otherLength(let told, let found):
      "a partial response of \(found) bytes whose Content-Range tells of \(told)"
    }
  }
}
