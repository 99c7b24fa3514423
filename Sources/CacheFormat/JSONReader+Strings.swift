// Strings, and the values that are written as strings.

extension JSONReader {
  /// Reads a string and returns its text as UTF-8; refuses lone surrogates.
  mutating func readString() throws(FormatError) -> [UInt8] {
    guard peek() == UInt8(ascii: "\"") else { throw typeError("a string") }
    _ = takeBytes(1)
    var text: [UInt8] = []
    while true {
      text.append(contentsOf: takePlain())
      switch byte() {
      case 0x22:
        _ = takeBytes(1)
        return text
      case 0x5c: try readEscape(into: &text)
      case nil: throw syntaxError("a string does not end")
      default: throw syntaxError("a control character stands in a string")
      }
    }
  }

  private mutating func readEscape(into text: inout [UInt8]) throws(FormatError) {
    switch byte(after: 1) {
    case UInt8(ascii: "\""): text.append(0x22)
    case UInt8(ascii: "\\"): text.append(0x5c)
    case UInt8(ascii: "/"): text.append(0x2f)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0c)
    case UInt8(ascii: "n"): text.append(0x0a)
    case UInt8(ascii: "r"): text.append(0x0d)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      let scalar = try readScalar()
      text.append(contentsOf: UTF8.encode(scalar)!)
      return
    default: throw syntaxError("an unknown escape")
    }
    _ = takeBytes(2)
  }

  /// Reads `\uXXXX`, or two of them that form a surrogate pair (RFC 8259, section 7).
  private mutating func readScalar() throws(FormatError) -> Unicode.Scalar {
    let first = try readCodeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard byte() == 0x5c, byte(after: 1) == UInt8(ascii: "u") else {
      throw syntaxError("half of a surrogate pair")
    }
    let second = try readCodeUnit()
    // If the first half is a low surrogate, the result lies beyond the last Unicode scalar.
    guard (0xdc00...0xdfff).contains(second),
      let scalar = Unicode.Scalar(
        0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00))
    else { throw syntaxError("half of a surrogate pair") }
    return scalar
  }

  private mutating func readCodeUnit() throws(FormatError) -> UInt16 {
    var value: UInt16 = 0
    for place in 2..<6 {
      // JSON allows both cases here; `| 0x20` makes letters lower case and does not change digits.
      guard let byte = byte(after: place),
        let digit = Hexadecimal.digitValue(byte < 0x40 ? byte : byte | 0x20)
      else { throw syntaxError("an escape needs four hex digits") }
      value = value << 4 | UInt16(digit)
    }
    _ = takeBytes(6)
    return value
  }

  /// Reads a byte string: a string, or an object with the member `base64`.
  package mutating func readByteString() throws(FormatError) -> ByteString {
    guard peek() == UInt8(ascii: "{") else { return ByteString(bytes: try readString()) }
    var result: [UInt8]?
    try readObject { (reader, name) throws(FormatError) in
      guard name == Array("base64".utf8) else { return try reader.skipValue() }
      _ = reader.peek()
      let start = reader.offset
      guard let decoded = Base64.decode(try reader.readString()) else {
        throw FormatError(.outOfBounds, at: start, "\(reader.subject) is not in base 64")
      }
      result = decoded
    }
    guard let result else { throw error(.missingMember, "has an object without \"base64\"") }
    return ByteString(bytes: result)
  }

  /// Reads a string of exactly 16 lower-case hex digits.
  mutating func readHex() throws(FormatError) -> UInt64 {
    _ = peek()
    let start = offset
    let digits = try readString()
    guard digits.count == 16, let value = Hexadecimal.parse(digits) else {
      throw FormatError(.outOfBounds, at: start, "\(subject) must have 16 hex digits")
    }
    return value
  }

  /// Reads a string of exactly 32 lower-case hex digits.
  mutating func readDigest() throws(FormatError) -> Digest {
    _ = peek()
    let start = offset
    guard let value = Digest(digits: try readString()) else {
      throw FormatError(.outOfBounds, at: start, "\(subject) must have 32 hex digits")
    }
    return value
  }

  package mutating func readTime() throws(FormatError) -> Timestamp {
    _ = peek()
    let start = offset
    guard let value = Timestamp(rfc3339: try readString()) else {
      throw FormatError(
        .outOfBounds, at: start,
        "\(subject) must be a time in UTC with nanoseconds between 1677 and 2262")
    }
    return value
  }

  /// Reads an array of name-value pairs, at most ``MetadataDocument/maximumItems``.
  package mutating func readFields() throws(FormatError) -> [Field] {
    var fields: [Field] = []
    try readArray(limit: MetadataDocument.maximumItems) { (reader) throws(FormatError) in
      var parts: [ByteString] = []
      try reader.readArray(limit: 2) { (reader) throws(FormatError) in
        parts.append(try reader.readByteString())
      }
      guard parts.count == 2 else {
        throw reader.error(.wrongType, "must hold pairs of name and value")
      }
      fields.append(Field(parts[0], parts[1]))
    }
    return fields
  }
}
