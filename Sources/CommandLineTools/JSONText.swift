/// A value to be written as JSON (RFC 8259).
///
/// The tools only write JSON; members keep their order.
public enum JSONText: Sendable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByNilLiteral
{
  /// Named members, in order.
  case object([(String, JSONText)])
  /// Values in order.
  case array([JSONText])
  /// Text.
  case string(String)
  /// A whole number; readers that know doubles alone lose digits over 2^53.
  case integer(Int64)
  /// A number. What is not finite is written as null, for JSON has no word for it.
  case number(Double)
  /// True or false.
  case bool(Bool)
  /// Nothing.
  case null

  /// Creates text from a literal.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates true or false from a literal.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates a whole number from a literal.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Creates null from a literal.
  public init(nilLiteral: ()) { self = .null }

  /// Makes a whole number of a count; over 2^63 - 1 it is clamped.
  public static func count(_ value: some BinaryInteger) -> JSONText {
    .integer(Int64(clamping: value))
  }

  /// The text in one line, as for a file with one object a line.
  public var line: String {
    var result = ""
    append(to: &result, indent: nil)
    return result
  }

  /// The text over several lines, two spaces a level.
  public var pretty: String {
    var result = ""
    append(to: &result, indent: "")
    return result
  }

  private func append(to result: inout String, indent: String?) {
    switch self {
    case .object(let members):
      appendList("{", members, "}", to: &result, indent) { member, result, inner in
        appendQuoted(member.0, to: &result)
        result += inner == nil ? ":" : ": "
        member.1.append(to: &result, indent: inner)
      }
    case .array(let values):
      appendList("[", values, "]", to: &result, indent) { value, result, inner in
        value.append(to: &result, indent: inner)
      }
    case .string(let text): appendQuoted(text, to: &result)
    case .integer(let value): result += String(value)
    case .number(let value): result += value.isFinite ? "\(value)" : "null"
    case .bool(let value): result += value ? "true" : "false"
    case .null: result += "null"
    }
  }
}

/// Appends a bracketed list; `indent` is nil for one line.
private func appendList<Element>(
  _ open: String, _ elements: [Element], _ close: String, to result: inout String,
  _ indent: String?, _ appendElement: (Element, inout String, String?) -> Void
) {
  let inner = indent.map { $0 + "  " }
  result += open
  for (index, element) in elements.enumerated() {
    if index > 0 { result += "," }
    if let inner { result += "\n" + inner }
    appendElement(element, &result, inner)
  }
  if let indent, !elements.isEmpty { result += "\n" + indent }
  result += close
}

/// Appends a JSON string; controls, DEL and the C1 range are escaped, so it is safe on a terminal.
private func appendQuoted(_ text: String, to result: inout String) {
  result += "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{200E}"..."\u{200F}",
      "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
      let digits = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: result.unicodeScalars.append(scalar)
    }
  }
  result += "\""
}
