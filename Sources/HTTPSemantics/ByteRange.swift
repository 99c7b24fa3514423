/// One range of a `Range` field (RFC 9110, section 14.1.2).
public enum ByteRange: Sendable, Hashable {
  /// The bytes from a position to the end, such as `bytes=500-`.
  case from(UInt64)
  /// The bytes from the first to the last position, both included, such as `bytes=0-499`.
  case between(first: UInt64, last: UInt64)
  /// A number of bytes at the end, such as `bytes=-500`.
  case suffix(UInt64)

  /// Returns the positions of the range in a representation of this length; `nil` if it has none of
  /// them.
  public func resolve(length: UInt64) -> ClosedRange<UInt64>? {
    guard length > 0 else { return nil }
    switch self {
    case .from(let first): return first < length ? first...(length - 1) : nil
    case .between(let first, let last):
      return first < length && first <= last ? first...min(last, length - 1) : nil
    case .suffix(let count):
      return count > 0 ? (length - min(count, length))...(length - 1) : nil
    }
  }

  /// Reads the `Range` of a `GET`; `nil` if there is none, if it has several ranges, which any server
  /// may answer with the whole, and if it must be ignored: it is malformed, has another unit, or is
  /// repeated (RFC 9110, section 14.2).
  ///
  /// - Complexity: O(*n*) in the number of fields and the length of `Range`.
  public init?(of request: HTTPRequest) {
    guard request.method == .get, let field = request.fields.only(named: "Range") else {
      return nil
    }
    let text = FieldBytes.trimmed(field.value[...])
    guard FieldBytes.starts(text, withLowercase: "bytes=") else { return nil }
    let members = text.dropFirst("bytes=".utf8.count).split(separator: UInt8(ascii: ","))
      .lazy.map(FieldBytes.trimmed).filter { !$0.isEmpty }.prefix(2)
    guard members.count == 1, let only = members.first else { return nil }
    self.init(only)
  }

  /// Reads `0-499`, `500-` or `-500`; `nil` for anything else. A number beyond `Int64` counts as
  /// `Int64.max`.
  init?(_ text: ArraySlice<UInt8>) {
    guard let dash = text.firstIndex(of: UInt8(ascii: "-")) else { return nil }
    let after = text[(dash + 1)...]
    if dash == text.startIndex {
      guard let count = Self.position(after) else { return nil }
      self = .suffix(count)
    } else if after.isEmpty {
      guard let first = Self.position(text[..<dash]) else { return nil }
      self = .from(first)
    } else {
      guard let first = Self.position(text[..<dash]), let last = Self.position(after),
        first <= last
      else { return nil }
      self = .between(first: first, last: last)
    }
  }

  private static func position(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
    return FieldBytes.number(digits) ?? UInt64(Int64.max)
  }
}
