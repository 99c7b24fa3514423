import HTTPSemantics

/// Collects field lines into fields (RFC 9112, section 5).
///
/// Lenient where servers are known to be odd and the meaning is clear: white space before the
/// colon and folded lines. A line without a colon, or whose name is no token, is left out.
struct FieldLines: Equatable {
  private(set) var fields = HTTPFields()

  /// Counts the bytes of all lines, left-out ones as well, so that they are bounded too.
  private(set) var bytes = 0

  /// Counts all lines, for the same reason.
  private(set) var count = 0

  /// Tells whether the line before this one was kept, so that a folded line can continue it.
  private var canFold = false

  mutating func append(_ text: [UInt8]) {
    bytes += text.count
    count += 1
    if let first = text.first, Self.isBlank(first) {
      if canFold { continueLast(with: Self.trimmed(text)) }
      return
    }
    canFold = false
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return }
    let name = String(decoding: Self.trimmed(Array(text[..<colon])), as: UTF8.self)
    guard HTTPField.isToken(name) else { return }
    fields.append(HTTPField(name: name, value: Self.trimmed(Array(text[(colon + 1)...]))))
    canFold = true
  }

  private mutating func continueLast(with text: [UInt8]) {
    guard let last = fields.last else { return }
    var all = Array(fields.dropLast())
    let value = last.value + (last.value.isEmpty || text.isEmpty ? [] : [0x20]) + text
    all.append(HTTPField(name: last.name, value: value))
    fields = HTTPFields(all)
  }

  /// Returns the bytes without white space at both ends.
  static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    guard let first = bytes.firstIndex(where: { !isBlank($0) }),
      let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return [] }
    return Array(bytes[first...last])
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09
  }
}
