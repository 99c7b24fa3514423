/// Brings the values of selecting fields to a form in which those that mean the same are equal
/// (RFC 9111, section 4.1).
package enum SelectingValue {
  /// Names the fields, in lower case, whose values are secrets: they must not stand in a store.
  package static func isCredential(_ name: String) -> Bool {
    name == "authorization" || name == "cookie" || name == "proxy-authorization"
  }

  static func isConcealed(_ name: String, length: Int) -> Bool {
    length > Selection.maximumValueLength || isCredential(name)
  }

  /// Returns what is kept of a field of a request: the normal form, concealed where it has to be;
  /// nil if there is no such field.
  ///
  /// - Parameter name: The name in lower case.
  static func kept(
    _ name: String, in request: HTTPFields, conceal: ([UInt8]) -> [UInt8]
  ) -> [UInt8]? {
    guard let first = request.firstIndex(named: name) else { return nil }
    var joined = request[first].value
    // Cookies that came in several lines are joined as they would have been sent in one.
    let separator = name == "cookie" ? "; " : ","
    var last = first
    while let next = request.firstIndex(named: name, from: last + 1) {
      joined += Array(separator.utf8) + request[next].value
      last = next
    }
    if isCredential(name) { return conceal(Array(FieldBytes.trimmed(joined[...]))) }
    let normal = normalized(name, joined)
    return normal.count > Selection.maximumValueLength ? conceal(normal) : normal
  }

  /// Returns the normal form of a value.
  ///
  /// - Complexity: O(*n*) in the length of the value.
  static func normalized(_ name: String, _ value: [UInt8]) -> [UInt8] {
    switch name {
    case "accept", "accept-charset", "accept-encoding", "accept-language":
      Preferences.normalized(value) ?? spaced(value)
    case "user-agent":
      // No list, and long enough that a look at each byte would be felt.
      Array(FieldBytes.trimmed(value[...]))
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
}
