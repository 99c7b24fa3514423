/// Brings the values of selecting fields to a form in which those that mean the same are equal
/// (RFC 9111, section 4.1).
enum SelectingValue {
  /// Names the fields whose values must not stand in a store.
  static func isSensitive(_ name: String) -> Bool {
    name == "authorization" || name == "cookie" || name == "proxy-authorization"
  }

  static func isConcealed(_ name: String, length: Int) -> Bool {
    length > Selection.maximumValueLength || isSensitive(name)
  }

  /// Returns what is kept of a field of a request: the normal form, concealed where it has to be;
  /// nil if there is no such field.
  ///
  /// - Parameter name: The name in lower case.
  static func kept(
    _ name: String, in request: HTTPFields, conceal: ([UInt8]) -> [UInt8]
  ) -> [UInt8]? {
    // Cookies that came in several lines are joined as they would have been sent in one.
    let separator = name == "cookie" ? "; " : ","
    var joined: [UInt8]?
    for line in request where line.isNamed(name) {
      if joined == nil {
        joined = line.value
      } else {
        joined? += Array(separator.utf8) + line.value
      }
    }
    guard let joined else { return nil }
    if isSensitive(name) { return conceal(Array(FieldBytes.trimmed(joined[...]))) }
    let normal = normalized(name, joined)
    return normal.count > Selection.maximumValueLength ? conceal(normal) : normal
  }

  /// Returns the normal form of a value.
  ///
  /// - Complexity: O(*n* log *n*).
  static func normalized(_ name: String, _ value: [UInt8]) -> [UInt8] {
    switch name {
    case "accept", "accept-charset", "accept-encoding", "accept-language":
      preferences(value) ?? spaced(value)
    default:
      spaced(value)
    }
  }

  /// Removes the white space around commas and both ends, but for what stands in quotation marks.
  private static func spaced(_ value: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(value.count)
    var isQuoted = false
    var isEscaped = false
    // The length up to which the result is quoted, so that no white space there is taken away.
    var kept = 0
    for byte in FieldBytes.trimmed(value[...]) {
      if isQuoted {
        result.append(byte)
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isQuoted = false
        }
        kept = result.count
      } else if byte == UInt8(ascii: ",") {
        while result.count > kept, let last = result.last, FieldBytes.isSpace(last) {
          result.removeLast()
        }
        result.append(byte)
      } else if !FieldBytes.isSpace(byte) || result.last != UInt8(ascii: ",") {
        isQuoted = byte == UInt8(ascii: "\"")
        result.append(byte)
      }
    }
    return result
  }

  /// Sorts the members of a list of preferences, whose order and case say nothing (RFC 9110,
  /// section 12.4.2 and 12.5); nil if it is not understood.
  private static func preferences(_ value: [UInt8]) -> [UInt8]? {
    guard !value.contains(UInt8(ascii: "\"")) else { return nil }
    var members: [[UInt8]] = []
    for raw in value.split(separator: UInt8(ascii: ",")) {
      let trimmed = FieldBytes.trimmed(raw)
      if trimmed.isEmpty { continue }
      guard let member = preference(trimmed) else { return nil }
      members.append(member)
    }
    members.sort { $0.lexicographicallyPrecedes($1) }
    return Array(members.joined(separator: [UInt8(ascii: ",")]))
  }

  /// Returns `en;q=0.5` for ` EN ; Q=0.50 `.
  private static func preference(_ raw: ArraySlice<UInt8>) -> [UInt8]? {
    let parts = raw.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    var result = FieldBytes.trimmed(parts[0]).map(ASCII.lowercased)
    for part in parts.dropFirst() {
      let parameter = FieldBytes.trimmed(part)
      guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let name = parameter[..<equals].map(ASCII.lowercased)
      if name == Array("q".utf8) {
        guard let weight = weight(parameter[(equals + 1)...]) else { return nil }
        result += weight
      } else {
        result += Array(";".utf8) + name + parameter[equals...]
      }
    }
    return result
  }

  /// Returns `;q=` with a weight in its shortest form, and nothing for the weight 1; nil if it is
  /// none (RFC 9110, section 12.4.2).
  private static func weight(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard let whole = text.first, whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1"),
      text.count <= 5, text.count == 1 || text[text.startIndex + 1] == UInt8(ascii: ".")
    else { return nil }
    var digits = text.dropFirst(2)
    guard digits.allSatisfy(ASCII.isDigit) else { return nil }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    if whole == UInt8(ascii: "1") { return digits.isEmpty ? [] : nil }
    let start = Array(";q=0".utf8)
    return digits.isEmpty ? start : start + [UInt8(ascii: ".")] + digits
  }
}
