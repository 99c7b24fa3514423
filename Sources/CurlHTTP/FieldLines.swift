import HTTPSemantics

/// Collects field lines into fields (RFC 9112, section 5).
///
/// Lenient where servers are known to be odd and the meaning is clear: white space before the
/// colon and folded lines. A line whose name is no token is left out. What was odd is remembered,
/// as libcurl does not read such lines the same way and they must not frame a body.
struct FieldLines: Equatable {
  private(set) var list: [HTTPField] = []

  /// Counts all lines, left-out ones as well, so that they are bounded too.
  private(set) var count = 0

  /// Gives the names of fields that were folded or had white space before the colon.
  private(set) var oddNames: Set<String> = []

  /// Tells whether the line before this one was kept, so that a folded line can continue it.
  private var canFold = false

  /// Gives the fields so far, in the order of the wire.
  var fields: HTTPFields { HTTPFields(list) }

  mutating func append(_ text: [UInt8]) {
    count += 1
    if let first = text.first, Self.isBlank(first) {
      if canFold { continueLast(with: FieldBytes.trimmed(text[...])) }
      return
    }
    canFold = false
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return }
    let name = String(decoding: FieldBytes.trimmed(text[..<colon]), as: UTF8.self)
    guard HTTPField.isToken(name) else { return }
    if name.utf8.count != colon { oddNames.insert(name.lowercased()) }
    list.append(HTTPField(name: name, value: Array(FieldBytes.trimmed(text[(colon + 1)...]))))
    canFold = true
  }

  /// Joins with one space, as RFC 9112, section 5.2 allows.
  private mutating func continueLast(with text: ArraySlice<UInt8>) {
    let last = list.count - 1
    oddNames.insert(list[last].name.lowercased())
    if !list[last].value.isEmpty, !text.isEmpty { list[last].value.append(0x20) }
    list[last].value.append(contentsOf: text)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09
  }
}
