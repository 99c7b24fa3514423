/// Parsers for small parts of field values.
package enum FieldBytes {
  /// Returns a value without surrounding spaces and tabs (`OWS` of RFC 9110, section 5.6.3).
  package static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = value
    while let first = rest.first, ListSyntax.isWhiteSpace(first) { rest.removeFirst() }
    while let last = rest.last, ListSyntax.isWhiteSpace(last) { rest.removeLast() }
    return rest
  }

  /// Reads `1*DIGIT`; `nil` for anything else and for numbers that do not fit into an `Int64`.
  ///
  /// So every position and length fits into an `Int` and can be incremented by one.
  package static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      guard ASCII.isDigit(digit) else { return nil }
      guard number <= UInt64(Int64.max) / 10 else { return nil }
      number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
      guard number <= UInt64(Int64.max) else { return nil }
    }
    return number
  }

  /// Returns whether a value starts with `name`, without regard to case.
  static func starts(_ value: ArraySlice<UInt8>, withLowercase name: String) -> Bool {
    value.count >= name.utf8.count
      && zip(value, name.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
  }
}
