/// A value that can be written as JSON (RFC 8259).
///
/// The tools and the proxy only write JSON. Members keep their order.
package enum JSONText: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  /// Named members, in order.
  case object([(String, JSONText)])
  case array([JSONText])
  case string(String)
  /// An integer. Readers that only have doubles lose digits beyond 2^53.
  case integer(Int64)
  /// A number. Infinities and NaN are written as null, because JSON has no way to write them.
  case number(Double)
  /// True or false.
  case bool(Bool)
  case null

  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }

  /// Returns a count as an integer, at most 2^63 - 1, or null for `nil`.
  package static func count(_ value: (some BinaryInteger)?) -> JSONText {
    value.map { .integer(Int64(clamping: $0)) } ?? .null
  }

  package static func text(_ value: String?) -> JSONText { value.map { .string($0) } ?? .null }

  /// The text in one line, as for a file with one object a line.
  package var line: String {
    var writer = JSONWriter()
    append(to: &writer, indent: nil)
    return writer.text
  }

  /// The text on several lines, with two spaces for each level.
  package var pretty: String {
    var writer = JSONWriter()
    append(to: &writer, indent: "")
    return writer.text
  }

  private func append(to writer: inout JSONWriter, indent: String?) {
    switch self {
    case .object(let members):
      appendList("{", members, "}", to: &writer, indent) { member, writer, inner in
        writer.appendText(member.0)
        writer.append(inner == nil ? ":" : ": ")
        member.1.append(to: &writer, indent: inner)
      }
    case .array(let values):
      appendList("[", values, "]", to: &writer, indent) { value, writer, inner in
        value.append(to: &writer, indent: inner)
      }
    case .string(let text): writer.appendText(text)
    case .integer(let value): writer.append(raw: String(value))
    case .number(let value): writer.appendNumber(value)
    case .bool(let value): writer.append(value ? "true" : "false")
    case .null: writer.append("null")
    }
  }
}

/// Appends a bracketed list; with an `indent` of `nil`, on one line.
private func appendList<Element>(
  _ open: StaticString, _ elements: [Element], _ close: StaticString, to writer: inout JSONWriter,
  _ indent: String?, _ appendElement: (Element, inout JSONWriter, String?) -> Void
) {
  let inner = indent.map { $0 + "  " }
  writer.append(open)
  for (index, element) in elements.enumerated() {
    if index > 0 { writer.append(",") }
    if let inner { writer.append(raw: "\n" + inner) }
    appendElement(element, &writer, inner)
  }
  if let indent, !elements.isEmpty { writer.append(raw: "\n" + indent) }
  writer.append(close)
}
