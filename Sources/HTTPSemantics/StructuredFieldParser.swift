/// A parser that follows the algorithms of RFC 9651, section 4.2 step by step.
struct StructuredFieldParser {
  private let end: Int
  private var position = 0

  init(end: Int) {
    self.end = end
  }

  /// Parses a dictionary (section 4.2.2); returns `nil` on any error.
  mutating func dictionary(_ bytes: Span<UInt8>) -> [StructuredDictionary.Member]? {
    var members: [StructuredDictionary.Member] = []
    var indexes: [String: Int] = [:]
    skip(bytes) { $0 == 0x20 }
    while position < end {
      guard let key = key(bytes), let value = memberValue(bytes) else { return nil }
      if let index = indexes[key] {
        members[index].value = value
      } else {
        guard members.count < StructuredDictionary.maximumMembers else { return nil }
        indexes[key] = members.count
        members.append(StructuredDictionary.Member(key: key, value: value))
      }
      skip(bytes, while: ListSyntax.isWhiteSpace)
      if position == end { return members }
      guard take(",", bytes) else { return nil }
      skip(bytes, while: ListSyntax.isWhiteSpace)
      guard position < end else { return nil }
    }
    return members
  }

  private mutating func memberValue(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take("=", bytes) else {
      return parameters(bytes) ? .boolean(true) : nil
    }
    let value = peek(bytes) == UInt8(ascii: "(") ? innerList(bytes) : bareItem(bytes)
    guard let value, parameters(bytes) else { return nil }
    return value
  }

  /// Parses an inner list (section 4.2.1.2). Its items are checked but not kept.
  private mutating func innerList(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take("(", bytes) else { return nil }
    while position < end {
      skip(bytes) { $0 == 0x20 }
      if take(")", bytes) { return .innerList }
      guard bareItem(bytes) != nil, parameters(bytes), let next = peek(bytes),
        next == 0x20 || next == UInt8(ascii: ")")
      else { return nil }
    }
    return nil
  }

  /// Parses parameters (section 4.2.3.2). They are checked but not kept.
  private mutating func parameters(_ bytes: Span<UInt8>) -> Bool {
    while take(";", bytes) {
      skip(bytes) { $0 == 0x20 }
      guard key(bytes) != nil else { return false }
      if take("=", bytes), bareItem(bytes) == nil { return false }
    }
    return true
  }

  /// Parses a key (section 4.2.3.3).
  private mutating func key(_ bytes: Span<UInt8>) -> String? {
    guard let first = peek(bytes), Self.isLowercase(first) || first == UInt8(ascii: "*") else {
      return nil
    }
    let start = position
    skip(bytes) { byte in
      switch byte {
      case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*"): true
      default: Self.isLowercase(byte) || ASCII.isDigit(byte)
      }
    }
    return text(bytes, start..<position)
  }

  /// Parses a bare item (section 4.2.3.1).
  private mutating func bareItem(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard let first = peek(bytes) else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string(bytes)
    case UInt8(ascii: ":"): return byteSequence(bytes)
    case UInt8(ascii: "?"): return boolean(bytes)
    case UInt8(ascii: "@"): return date(bytes)
    case UInt8(ascii: "%"): return displayString(bytes)
    case UInt8(ascii: "*"): return token(bytes)
    case UInt8(ascii: "-"): return number(bytes)
    default: return ASCII.isDigit(first) ? number(bytes) : token(bytes)
    }
  }

  /// Parses an integer or a decimal (section 4.2.4).
  private mutating func number(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    let isNegative = take("-", bytes)
    let start = position
    skip(bytes, while: ASCII.isDigit)
    let digits = position - start
    guard digits > 0 else { return nil }
    if take(".", bytes) {
      let fraction = position
      skip(bytes, while: ASCII.isDigit)
      guard digits <= 12, (1...3).contains(position - fraction) else { return nil }
      return .decimal
    }
    guard digits <= 15 else { return nil }
    var value: Int64 = 0
    for index in start..<position {
      value = value * 10 + Int64(bytes[index] - UInt8(ascii: "0"))
    }
    return .integer(isNegative ? -value : value)
  }

  /// Parses a string (section 4.2.5).
  private mutating func string(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take("\"", bytes) else { return nil }
    var content: [UInt8] = []
    while let byte = next(bytes) {
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: content, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = next(bytes), escaped == UInt8(ascii: "\"") || escaped == byte else {
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
  private mutating func token(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard let first = peek(bytes), ASCII.isLetter(first) || first == UInt8(ascii: "*") else {
      return nil
    }
    let start = position
    skip(bytes) { byte in
      ASCII.isTokenByte(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }
    return .token(text(bytes, start..<position))
  }

  /// Parses a byte sequence (section 4.2.7). Only the alphabet is checked, not the padding.
  private mutating func byteSequence(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take(":", bytes) else { return nil }
    let start = position
    skip(bytes) { byte in
      switch byte {
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): true
      default: ASCII.isLetter(byte) || ASCII.isDigit(byte)
      }
    }
    let end = position
    return take(":", bytes) ? .byteSequence(text(bytes, start..<end)) : nil
  }

  /// Parses a boolean (section 4.2.8).
  private mutating func boolean(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take("?", bytes) else { return nil }
    if take("1", bytes) { return .boolean(true) }
    return take("0", bytes) ? .boolean(false) : nil
  }

  /// Parses a date (section 4.2.9).
  private mutating func date(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take("@", bytes), case .integer = number(bytes) else { return nil }
    return .date
  }

  /// Parses a display string (section 4.2.10). Its bytes are not checked to be UTF-8.
  private mutating func displayString(_ bytes: Span<UInt8>) -> StructuredDictionary.Value? {
    guard take("%", bytes), take("\"", bytes) else { return nil }
    while let byte = next(bytes) {
      switch byte {
      case UInt8(ascii: "\""): return .displayString
      case UInt8(ascii: "%"):
        guard let high = next(bytes), let low = next(bytes), Self.isLowercaseHex(high),
          Self.isLowercaseHex(low)
        else { return nil }
      case 0x20...0x7E: break
      default: return nil
      }
    }
    return nil
  }

  private func peek(_ bytes: Span<UInt8>) -> UInt8? {
    position < end ? bytes[position] : nil
  }

  private mutating func next(_ bytes: Span<UInt8>) -> UInt8? {
    guard position < end else { return nil }
    position += 1
    return bytes[position - 1]
  }

  private mutating func take(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
    guard peek(bytes) == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func skip(_ bytes: Span<UInt8>, while accepts: (UInt8) -> Bool) {
    while position < end, accepts(bytes[position]) { position += 1 }
  }

  private func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
    String(decoding: range.map { bytes[$0] }, as: UTF8.self)
  }

  private static func isLowercase(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }

  private static func isLowercaseHex(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"))
  }
}
