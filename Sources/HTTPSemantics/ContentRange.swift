/// The bytes of a representation that a 206 response contains (RFC 9110, section 14.4).
public struct ContentRange: Sendable, Hashable {
  /// The position of the first byte; the representation starts at 0.
  public let first: UInt64

  /// The position of the last byte, inclusive; at least ``first``.
  public let last: UInt64

  /// The length of the whole representation in bytes, greater than ``last``; `nil` if it is
  /// unknown.
  public let completeLength: UInt64?

  /// Creates a range; `nil` if the last byte lies before the first or past the end, or if a number
  /// is beyond `Int64`.
  public init?(first: UInt64, last: UInt64, completeLength: UInt64?) {
    guard first <= last, last < UInt64(Int64.max) else { return nil }
    if let completeLength {
      guard last < completeLength, completeLength <= UInt64(Int64.max) else { return nil }
    }
    self.first = first
    self.last = last
    self.completeLength = completeLength
  }

  /// Reads `bytes 0-4/10` or `bytes 0-4/*`; `nil` for another form, another unit, or a
  /// contradiction.
  ///
  /// An invalid `Content-Range` must not be used to combine parts (RFC 9110, section 14.4), so this
  /// initializer makes no guesses.
  public init?(_ value: [UInt8]) {
    guard let rest = Self.afterUnit(value),
      let slash = rest.firstIndex(of: UInt8(ascii: "/")),
      let dash = rest[..<slash].firstIndex(of: UInt8(ascii: "-")),
      let first = FieldBytes.number(rest[..<dash]),
      let last = FieldBytes.number(rest[(dash + 1)..<slash])
    else { return nil }
    let length = rest[(slash + 1)...]
    if length.elementsEqual("*".utf8) {
      self.init(first: first, last: last, completeLength: nil)
    } else if let completeLength = FieldBytes.number(length) {
      self.init(first: first, last: last, completeLength: completeLength)
    } else {
      return nil
    }
  }

  /// Reads the `Content-Range` of a message; `nil` if there is none, more than one, or an invalid
  /// one.
  public init?(of fields: HTTPFields) {
    guard let field = fields.only(named: "Content-Range") else { return nil }
    self.init(field.value)
  }

  /// The number of bytes, at least 1.
  public var count: UInt64 { last - first + 1 }

  /// The value of a `Content-Range` field, such as `bytes 0-4/10`.
  public var fieldValue: String {
    "bytes \(first)-\(last)/\(completeLength.map(String.init) ?? "*")"
  }

  /// Returns the value for a 416 response, such as `bytes */10`: no requested byte exists.
  public static func unsatisfiedFieldValue(completeLength: UInt64) -> String {
    "bytes */\(completeLength)"
  }

  /// Returns the part after `bytes` and the space. Names of units are compared without regard to
  /// case (RFC 9110, section 14.1).
  private static func afterUnit(_ value: [UInt8]) -> ArraySlice<UInt8>? {
    let trimmed = FieldBytes.trimmed(value[...])
    guard FieldBytes.starts(trimmed, withLowercase: "bytes ") else { return nil }
    return trimmed.dropFirst("bytes ".utf8.count)
  }
}
