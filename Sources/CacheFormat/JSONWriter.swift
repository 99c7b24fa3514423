/// Appends JSON directly to bytes, without an intermediate String or tree of values.
///
/// It writes values only; the caller writes the brackets and commas. The store, the server and the
/// tools write all their JSON with it.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []

  /// Creates an empty writer with room for `capacity` bytes.
  package init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Appends text without escapes: punctuation and names of members.
  package mutating func append(_ text: StaticString) {
    // Safety: the literal lives as long as the program and has that many bytes.
    unsafe bytes.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends ASCII text without escapes: numbers, punctuation, line feeds.
  package mutating func append(raw text: some StringProtocol) {
    bytes.append(contentsOf: text.utf8)
  }

  /// Appends digits without leading zeros.
  package mutating func appendInteger(_ value: UInt64) {
    var divisor: UInt64 = 1
    while value / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      bytes.append(48 + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }

  /// Appends a string of 16 lower-case hex digits.
  mutating func appendHex(_ value: UInt64) {
    append("\"")
    appendHexDigits(value)
    append("\"")
  }

  /// Appends a string of 32 lower-case hex digits.
  mutating func appendHex(high: UInt64, low: UInt64) {
    append("\"")
    appendHexDigits(high)
    appendHexDigits(low)
    append("\"")
  }

  private mutating func appendHexDigits(_ value: UInt64, digits: Int = 16) {
    for place in stride(from: 4 * digits - 4, through: 0, by: -4) {
      bytes.append(Hexadecimal.digit(UInt8(truncatingIfNeeded: value >> UInt64(place)) & 15))
    }
  }

  /// Appends the 30 bytes of a time, without quotation marks.
  package mutating func appendTime(_ time: Timestamp) {
    var seconds = time.nanoseconds / 1_000_000_000
    var fraction = Int(time.nanoseconds % 1_000_000_000)
    if fraction < 0 {
      fraction += 1_000_000_000
      seconds -= 1
    }
    let date = CivilTime(seconds: seconds)
    appendNumber(Int(date.year), firstPlace: 1000, then: "-")
    appendNumber(date.month, firstPlace: 10, then: "-")
    appendNumber(date.day, firstPlace: 10, then: "T")
    appendNumber(date.hour, firstPlace: 10, then: ":")
    appendNumber(date.minute, firstPlace: 10, then: ":")
    appendNumber(date.second, firstPlace: 10, then: ".")
    appendNumber(fraction, firstPlace: 100_000_000, then: "Z")
  }

  /// Appends a number with leading zeros, and a separator.
  private mutating func appendNumber(
    _ number: Int, firstPlace: Int, then separator: Unicode.Scalar
  ) {
    var place = firstPlace
    while place > 0 {
      bytes.append(UInt8(truncatingIfNeeded: 48 + number / place % 10))
      place /= 10
    }
    bytes.append(UInt8(ascii: separator))
  }

  /// Appends a number, or `null` if it is not finite, because JSON cannot represent that.
  package mutating func appendNumber(_ value: Double) {
    append(raw: value.isFinite ? "\(value)" : "null")
  }

  /// Appends text as a JSON string; escapes characters that could control a terminal
  /// (`Unicode.Scalar.steersTerminal`).
  ///
  /// - Parameter isASCII: whether all other characters outside ASCII are escaped, too.
  /// - Complexity: O(length).
  package mutating func appendText(_ text: String, isASCII: Bool = false) {
    append("\"")
    for scalar in text.unicodeScalars {
      if scalar.isASCII {
        let byte = UInt8(truncatingIfNeeded: scalar.value)
        if TextKind.needsEscape(byte) { appendEscape(byte) } else { bytes.append(byte) }
      } else if isASCII || scalar.steersTerminal {
        for unit in UTF16.encode(scalar) ?? .init() {
          append("\\u")
          appendHexDigits(UInt64(unit), digits: 4)
        }
      } else {
        bytes.append(contentsOf: UTF8.encode(scalar) ?? .init())
      }
    }
    append("\"")
  }

  /// Appends a byte string: a JSON string if it is valid UTF-8, otherwise `{"base64": "…"}`.
  ///
  /// - Complexity: O(length).
  package mutating func appendString(_ value: ByteString) {
    switch TextKind(value.bytes) {
    case .plain:
      append("\"")
      bytes.append(contentsOf: value.bytes)
      append("\"")
    case .escaped:
      append("\"")
      appendEscaped(value.bytes)
      append("\"")
    case .binary:
      append("{\"base64\": ")
      appendBase64(value.bytes)
      append("}")
    }
  }

  /// Appends an array of name-value pairs, one per line.
  package mutating func appendFields(_ fields: [Field]) {
    var isFirst = true
    for field in fields {
      append(isFirst ? "[\n  [" : ",\n  [")
      appendString(field.name)
      append(", ")
      appendString(field.value)
      append("]")
      isFirst = false
    }
    append(isFirst ? "[]" : "\n ]")
  }

  package mutating func appendBase64(_ value: [UInt8]) {
    append("\"")
    append(raw: Base64.encode(value))
    append("\"")
  }

  private mutating func appendEscaped(_ text: [UInt8]) {
    var start = 0
    for index in text.indices where TextKind.needsEscape(text[index]) {
      bytes.append(contentsOf: text[start..<index])
      appendEscape(text[index])
      start = index + 1
    }
    bytes.append(contentsOf: text[start...])
  }

  private mutating func appendEscape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    case UInt8(ascii: "\n"): append("\\n")
    case UInt8(ascii: "\r"): append("\\r")
    case UInt8(ascii: "\t"): append("\\t")
    default:
      append("\\u")
      appendHexDigits(UInt64(byte), digits: 4)
    }
  }
}

/// The ways in which a byte string can be written in a document.
private enum TextKind {
  /// ASCII that needs no escapes.
  case plain
  /// UTF-8 that may need escapes.
  case escaped
  /// Bytes that are not UTF-8.
  case binary

  init(_ bytes: [UInt8]) {
    var special = false
    for byte in bytes {
      special = special || byte >= 0x80 || Self.needsEscape(byte)
    }
    if !special {
      self = .plain
    } else {
      self = String(validating: bytes, as: UTF8.self) == nil ? .binary : .escaped
    }
  }

  /// Returns whether a byte of UTF-8 is escaped: quotation mark, backslash and the control
  /// characters of ASCII. JSON does not require an escape for DEL; it is escaped to protect
  /// terminals.
  static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x22 || byte == 0x5c || byte == 0x7f
  }
}

extension Unicode.Scalar {
  /// Whether the character can control a terminal or be displayed in a misleading way: control
  /// characters (C0, DEL, and C1, which some terminals take for escape sequences), direction marks,
  /// and characters without a width.
  package var steersTerminal: Bool {
    switch self {
    case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200B}"..."\u{200F}",
      "\u{2028}"..."\u{202E}", "\u{2060}"..."\u{206F}", "\u{FEFF}", "\u{FFF9}"..."\u{FFFB}",
      "\u{E0000}"..."\u{E007F}":
      true
    default: false
    }
  }
}
