/// Reads the small parts that the values of many fields are made of.
enum FieldBytes {
  /// Returns a value without the spaces and tabs around it (`OWS` of RFC 9110, section 5.6.3).
  static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = value
    while let first = rest.first, isSpace(first) { rest.removeFirst() }
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    return rest
  }

  static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09
  }

  /// Reads `1*DIGIT` up to the largest `Int64`; nil for anything else.
  ///
  /// The bound lets every position and length be an `Int` and be counted up by one.
  static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      guard ASCII.isDigit(digit) else { return nil }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      guard !isTooLarge, product <= UInt64(Int64.max) - 9 else { return nil }
      number = product + UInt64(digit - UInt8(ascii: "0"))
    }
    return number
  }

  /// Tells whether a value starts with a name, without regard to the case of letters.
  static func starts(_ value: ArraySlice<UInt8>, withLowercase name: String) -> Bool {
    value.count >= name.utf8.count
      && zip(value, name.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
  }
}
