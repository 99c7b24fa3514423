internal import CacheFormat

/// Writes JSON (RFC 8259) in one pass, without a tree of values.
///
/// Every value is followed by a comma. The comma before a closing bracket is removed again.
struct StatusJSON {
  private var writer = JSONWriter()

  /// Returns the text of an object.
  static func object(_ members: (inout StatusJSON) -> Void) -> String {
    var json = StatusJSON()
    json.appendObject(members)
    json.writer.removeLast(",")
    return json.writer.text
  }

  /// Adds a member whose value is text, or null for `nil`.
  mutating func member(_ name: StaticString, _ value: String?) {
    appendName(name)
    guard let value else { return appendWord("null") }
    writer.appendText(value)
    writer.append(",")
  }

  /// Adds a member whose value is an integer, or null for `nil`.
  ///
  /// Readers that only have doubles lose digits beyond 2^53.
  mutating func member<Number: BinaryInteger>(_ name: StaticString, _ value: Number?) {
    appendName(name)
    appendWord(value.map { String($0) } ?? "null")
  }

  /// Adds a member whose value is a number, or null for `nil`, NaN and infinities.
  mutating func member(_ name: StaticString, _ value: Double?) {
    appendName(name)
    writer.appendNumber(value ?? .nan)
    writer.append(",")
  }

  /// Adds a member whose value is true or false.
  mutating func member(_ name: StaticString, _ value: Bool) {
    appendName(name)
    appendWord(value ? "true" : "false")
  }

  /// Adds a member whose value is an object, or null for `nil`.
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
    writer.append("[")
    for element in elements { appendObject { members(element, &$0) } }
    close("]")
  }

  private mutating func appendObject(_ members: (inout StatusJSON) -> Void) {
    writer.append("{")
    members(&self)
    close("}")
  }

  private mutating func close(_ bracket: StaticString) {
    writer.removeLast(",")
    appendWord(bracket.description)
  }

  private mutating func appendName(_ name: StaticString) {
    writer.appendText(name.description)
    writer.append(":")
  }

  private mutating func appendWord(_ word: String) {
    writer.append(raw: word)
    writer.append(",")
  }
}
