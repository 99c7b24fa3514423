import HTTPSemantics

/// Collects field lines into fields (RFC 9112, section 5).
///
/// It accepts forms that servers are known to send if the meaning is clear: white space before the
/// colon, and folded lines. A line whose name is not a token is skipped. The names of fields with
/// such forms are recorded, because libcurl reads them differently, so they must not frame a body.
struct FieldLines: Equatable {
  private(set) var list: [HTTPField] = []

  /// The number of all lines. Skipped lines are included, so that they are limited, too.
  private(set) var count = 0

  /// The names of fields that were folded or had white space before the colon.
  private(set) var oddNames: Set<String> = []

  /// Whether the previous line was kept, so that a folded line can continue it.
  private var canFold = false

  /// The fields so far, in the order in which they were received.
  var fields: HTTPFields { HTTPFields(list) }

  mutating func append(_ text: [UInt8]) {
    count += 1
    if let first = text.first, ListSyntax.isWhiteSpace(first) {
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

  /// Appends a folded line. It is joined with one space, as RFC 9112, section 5.2 allows.
  private mutating func continueLast(with text: ArraySlice<UInt8>) {
    let last = list.count - 1
    oddNames.insert(list[last].name.lowercased())
    if !list[last].value.isEmpty, !text.isEmpty { list[last].value.append(0x20) }
    list[last].value.append(contentsOf: text)
  }
}
