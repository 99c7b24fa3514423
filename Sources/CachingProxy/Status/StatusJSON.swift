/// Writes JSON (RFC 8259) in one pass, without a tree of values.
///
/// Every value is followed by a comma; the one before a closing bracket is taken back.
struct StatusJSON {
  private(set) var text = ""

  /// Makes the text of an object.
  static func object(_ members: (inout StatusJSON) -> Void) -> String {
    var json = StatusJSON()
    json.appendObject(members)
    json.text.removeLast()
    return json.text
  }

  /// Adds a member whose value is text; null for nil.
  mutating func member(_ name: StaticString, _ value: String?) {
    appendName(name)
    guard let value else { return appendWord("null") }
    appendString(value)
    text += ","
  }

  /// Adds a member whose value is a whole number; null for nil.
  ///
  /// Readers that know doubles alone lose digits over 2^53.
  mutating func member<Number: BinaryInteger>(_ name: StaticString, _ value: Number?) {
    appendName(name)
    appendWord(value.map { String($0) } ?? "null")
  }

  /// Adds a member whose value is a number; null for nil and for what is not finite.
  mutating func member(_ name: StaticString, _ value: Double?) {
    appendName(name)
    appendWord(value.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null")
  }

  /// Adds a member whose value is true or false.
  mutating func member(_ name: StaticString, _ value: Bool) {
    appendName(name)
    appendWord(value ? "true" : "false")
  }

  /// Adds a member whose value is an object; null where there are no members.
  mutating func member(_ name: StaticString, _ members: ((inout StatusJSON) -> Void)?) {
    appendName(name)
    guard let members else { return appendWord("null") }
    appendObject(members)
  }

  /// Adds a member whose value is an array of objects.
  mutating func member<Element>(
    _ name: StaticString, each elements: some Sequence<Element>,
    _ members: (Element, inout StatusJSON) -> Void
  ) {
    appendName(name)
    text += "["
    for element in elements { appendObject { members(element, &$0) } }
    close("]")
  }

  private mutating func appendObject(_ members: (inout StatusJSON) -> Void) {
    text += "{"
    members(&self)
    close("}")
  }

  private mutating func close(_ bracket: StaticString) {
    if text.utf8.last == UInt8(ascii: ",") { text.removeLast() }
    appendWord(bracket.description)
  }

  private mutating func appendName(_ name: StaticString) {
    appendString(name.description)
    text += ":"
  }

  private mutating func appendWord(_ word: String) {
    text += word
    text += ","
  }

  /// Appends a string; what a terminal would act upon is escaped, too.
  private mutating func appendString(_ value: String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{200B}"..."\u{200F}",
        "\u{2028}"..."\u{202E}", "\u{2060}"..."\u{206F}", "\u{FEFF}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
