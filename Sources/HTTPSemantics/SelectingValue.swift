/// Normalisation of the values of selecting fields, so that values with the same meaning are equal
/// (RFC 9111, section 4.1).
package enum SelectingValue {
  /// Returns whether a value must not be stored as it is; `name` is in lower case.
  static func isConcealed(_ name: String, length: Int) -> Bool {
    length > Selection.maximumValueLength || HTTPFields.mayBeCredential(name)
  }

  /// Returns the value of a request's field as it is stored: in its normal form, and concealed if
  /// necessary; `nil` if there is no such field.
  ///
  /// - Parameter name: The name in lower case.
  static func kept(
    _ name: String, in request: HTTPFields, conceal: ([UInt8]) -> [UInt8]
  ) -> [UInt8]? {
    guard let first = request.firstIndex(named: name) else { return nil }
    var joined = request[first].value
    // Several lines of cookies are joined as one line would contain them.
    let separator = name == "cookie" ? "; " : ","
    var last = first
    while let next = request.firstIndex(named: name, from: last + 1) {
      joined += Array(separator.utf8) + request[next].value
      last = next
    }
    let normal = normalized(name, joined)
    return isConcealed(name, length: normal.count) ? conceal(normal) : normal
  }

  /// Returns the normal form of a value.
  ///
  /// - Complexity: O(*n*) in the length of the value.
  static func normalized(_ name: String, _ value: [UInt8]) -> [UInt8] {
    switch name {
    case "accept", "accept-charset", "accept-encoding", "accept-language":
      Preferences.normalized(value) ?? spaced(value)
    case "authorization", "cookie", "proxy-authorization", "user-agent":
      // Not lists, and so long that the check of each byte would take noticeable time.
      Array(FieldBytes.trimmed(value[...]))
    default:
      spaced(value)
    }
  }

  /// Removes the white space around commas and at both ends, except in quotation marks.
  private static func spaced(_ value: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(value.count)
    var isQuoted = false
    var isEscaped = false
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
      } else if byte == UInt8(ascii: ",") {
        while let last = result.last, ListSyntax.isWhiteSpace(last) { result.removeLast() }
        result.append(byte)
      } else if !ListSyntax.isWhiteSpace(byte) || result.last != UInt8(ascii: ",") {
        isQuoted = byte == UInt8(ascii: "\"")
        result.append(byte)
      }
    }
    return result
  }
}
