/// Tells which bytes of a representation a 206 response holds (RFC 9110, section 14.4).
public struct ContentRange: Sendable, Hashable {
  /// Gives the position of the first byte; the representation starts with 0.
  public let first: UInt64

  /// Gives the position of the last byte, which is included; at least ``first``.
  public let last: UInt64

  /// Gives the length of the whole representation in bytes, greater than ``last``; nil: unknown.
  public let completeLength: UInt64?

  /// Makes a range; nil if the last byte lies before the first or behind the end, or a number is
  /// beyond `Int64`.
  public init?(first: UInt64, last: UInt64, completeLength: UInt64?) {
    guard first <= last, last < UInt64(Int64.max) else { return nil }
    if let completeLength {
      guard last < completeLength, completeLength <= UInt64(Int64.max) else { return nil }
    }
    self.first = first
    self.last = last
    self.completeLength = completeLength
  }

  /// Reads `bytes 0-4/10` or `bytes 0-4/*`; nil for any other form, unit or contradiction.
  ///
  /// A `Content-Range` that makes no sense must not be used to put parts together (RFC 9110,
  /// section 14.4), so nothing is guessed here.
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

  /// Reads the `Content-Range` of a message; nil if there is none, more than one, or a bad one.
  public init?(of fields: HTTPFields) {
    guard let field = fields.only(named: "Content-Range") else { return nil }
    self.init(field.value)
  }

  /// Gives the number of bytes, at least 1.
  public var count: UInt64 { last - first + 1 }

  /// Gives the positions of the bytes.
  public var positions: ClosedRange<UInt64> { first...last }

  /// Tells whether the part is all of the representation.
  public var isWhole: Bool { first == 0 && completeLength == last + 1 }

  /// Gives the value of a `Content-Range` field, such as `bytes 0-4/10`.
  public var fieldValue: String {
    "bytes \(first)-\(last)/\(completeLength.map(String.init) ?? "*")"
  }

  /// Returns the value for a 416 response, such as `bytes */10`: no byte is as was wished.
  public static func unsatisfiedFieldValue(completeLength: UInt64) -> String {
    "bytes */\(completeLength)"
  }

  /// Reads the length out of `bytes */10`; nil for any other form.
  public static func unsatisfiedLength(_ value: [UInt8]) -> UInt64? {
    guard let rest = afterUnit(value), rest.starts(with: "*/".utf8) else { return nil }
    return FieldBytes.number(rest.dropFirst(2))
  }

  /// Returns what follows `bytes` and the space; names of units have no case (RFC 9110, 14.1).
  private static func afterUnit(_ value: [UInt8]) -> ArraySlice<UInt8>? {
    let trimmed = FieldBytes.trimmed(value[...])
    guard FieldBytes.starts(trimmed, withLowercase: "bytes ") else { return nil }
    return trimmed.dropFirst("bytes ".utf8.count)
  }
}
