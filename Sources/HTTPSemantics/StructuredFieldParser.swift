/// A parser that follows the algorithms of RFC 9651, section 4.2 step by step.
struct StructuredFieldParser: ByteReading {
  let bytes: [UInt8]
  var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a dictionary (section 4.2.2); returns `nil` on any error.
  mutating func dictionary() -> [StructuredDictionary.Member]? {
    var members: [StructuredDictionary.Member] = []
    var indexes: [String: Int] = [:]
    skip { $0 == 0x20 }
    while position < bytes.count {
      guard let key = key(), let value = memberValue() else { return nil }
      if let index = indexes[key] {
        members[index].value = value
      } else {
        guard members.count < StructuredDictionary.maximumMembers else { return nil }
        indexes[key] = members.count
        members.append(StructuredDictionary.Member(key: key, value: value))
      }
      skip(while: ListSyntax.isWhiteSpace)
      if position == bytes.count { return members }
      guard take(",") else { return nil }
      skip(while: ListSyntax.isWhiteSpace)
      guard position < bytes.count else { return nil }
    }
    return members
  }

  private mutating func memberValue() -> StructuredDictionary.Value? {
    guard take("=") else {
      return parameters() ? .boolean(true) : nil
    }
    let value = peek == UInt8(ascii: "(") ? innerList() : bareItem()
    guard let value, parameters() else { return nil }
    return value
  }

  /// Parses an inner list (section 4.2.1.2). Its items are checked but not kept.
  private mutating func innerList() -> StructuredDictionary.Value? {
    guard take("(") else { return nil }
    while position < bytes.count {
      skip { $0 == 0x20 }
      if take(")") { return .other }
      guard bareItem() != nil, parameters(), let next = peek,
        next == 0x20 || next == UInt8(ascii: ")")
      else { return nil }
    }
    return nil
  }

  /// Parses parameters (section 4.2.3.2). They are checked but not kept.
  private mutating func parameters() -> Bool {
    while take(";") {
      skip { $0 == 0x20 }
      guard key() != nil else { return false }
      if take("="), bareItem() == nil { return false }
    }
    return true
  }

  /// Parses a key (section 4.2.3.3).
  private mutating func key() -> String? {
    guard let first = peek, Self.isLowercase(first) || first == UInt8(ascii: "*") else {
      return nil
    }
    return text { byte in
      switch byte {
      case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*"): true
      default: Self.isLowercase(byte) || ASCII.isDigit(byte)
      }
    }
  }

  /// Parses a bare item (section 4.2.3.1).
  private mutating func bareItem() -> StructuredDictionary.Value? {
    guard let first = peek else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: ":"): return byteSequence()
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: "@"): return date()
    case UInt8(ascii: "%"): return displayString()
    case UInt8(ascii: "*"): return token()
    case UInt8(ascii: "-"): return number()
    default: return ASCII.isDigit(first) ? number() : token()
    }
  }

  /// Parses an integer or a decimal (section 4.2.4).
  private mutating func number() -> StructuredDictionary.Value? {
    let isNegative = take("-")
    let start = position
    skip(while: ASCII.isDigit)
    let digits = position - start
    guard digits > 0 else { return nil }
    if take(".") {
      let fraction = position
      skip(while: ASCII.isDigit)
      guard digits <= 12, (1...3).contains(position - fraction) else { return nil }
      return .other
    }
    guard digits <= 15 else { return nil }
    var value: Int64 = 0
    for index in start..<position {
      value = value * 10 + Int64(bytes[index] - UInt8(ascii: "0"))
    }
    return .integer(isNegative ? -value : value)
  }

  /// Parses a string (section 4.2.5).
  private mutating func string() -> StructuredDictionary.Value? {
    guard take("\"") else { return nil }
    var content: [UInt8] = []
    while let byte = next() {
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: content, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = next(), escaped == UInt8(ascii: "\"") || escaped == byte else {
          return nil
        }
        content.append(escaped)
      case 0x20...0x7E: content.append(byte)
      default: return nil
      }
    }
    return nil
  }

  /// Parses a token (section 4.2.6).
  private mutating func token() -> StructuredDictionary.Value? {
    guard let first = peek, ASCII.isLetter(first) || first == UInt8(ascii: "*") else {
      return nil
    }
    return .token(
      text { ASCII.isTokenByte($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") })
  }

  /// Parses a byte sequence (section 4.2.7). Only the alphabet is checked, not the padding.
  private mutating func byteSequence() -> StructuredDictionary.Value? {
    guard take(":") else { return nil }
    let digits = text { ASCII.isLetter($0) || ASCII.isDigit($0) || "+/=".utf8.contains($0) }
    return take(":") ? .byteSequence(digits) : nil
  }

  /// Parses a boolean (section 4.2.8).
  private mutating func boolean() -> StructuredDictionary.Value? {
    guard take("?") else { return nil }
    if take("1") { return .boolean(true) }
    return take("0") ? .boolean(false) : nil
  }

  /// Parses a date (section 4.2.9).
  private mutating func date() -> StructuredDictionary.Value? {
    guard take("@"), case .integer = number() else { return nil }
    return .other
  }

  /// Parses a display string (section 4.2.10). Its bytes are not checked to be UTF-8.
  private mutating func displayString() -> StructuredDictionary.Value? {
    guard take("%"), take("\"") else { return nil }
    while let byte = next() {
      switch byte {
      case UInt8(ascii: "\""): return .other
      case UInt8(ascii: "%"):
        guard let high = next(), let low = next(), Self.isLowercaseHex(high),
          Self.isLowercaseHex(low)
        else { return nil }
      case 0x20...0x7E: break
      default: return nil
      }
    }
    return nil
  }

  private static func isLowercase(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }

  private static func isLowercaseHex(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"))
  }
}
