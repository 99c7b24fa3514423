/// Classes of bytes in the grammars of RFC 3986 and RFC 9110.
package enum ASCII {
  package static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  package static func isLetter(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
  }

  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }

  /// Returns bytes as text, with the letters in lower case.
  static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map { lowercased($0) as UInt8 }, as: UTF8.self)
  }

  /// `unreserved` of RFC 3986, section 2.3.
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// `ALPHA / DIGIT / "+" / "-" / "."` of RFC 3986, section 3.1.
  package static func isSchemeByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || contains("+-.", byte)
  }

  /// The bytes of a host name. RFC 3986 allows more in a registered name, but a name with other
  /// bytes could not be looked up.
  package static func isHostByte(_ byte: UInt8) -> Bool {
    isUnreserved(byte)
  }

  package static func isIPv6Byte(_ byte: UInt8) -> Bool {
    hexValue(byte) != nil || contains(":.", byte)
  }

  /// The bytes that are not escaped in path and query: `pchar`, `/` and `?` of RFC 3986, section
  /// 3.3, and the brackets and the bar, which clients send unescaped and servers distinguish from
  /// their escapes.
  static func isTargetByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","),
      UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "="),
      UInt8(ascii: "?"), UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "]"),
      UInt8(ascii: "|"):
      true
    default: isUnreserved(byte)
    }
  }

  /// `tchar` of RFC 9110, section 5.6.2.
  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"),
      UInt8(ascii: "+"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"):
      true
    default: isUnreserved(byte)
    }
  }

  /// Returns the value of a hex digit of either case, or nil.
  package static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - UInt8(ascii: "0") }
    let lower = byte | 0x20
    guard lower >= UInt8(ascii: "a"), lower <= UInt8(ascii: "f") else { return nil }
    return lower - UInt8(ascii: "a") + 10
  }

  static func hexDigit(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10
  }

  /// Compares two names without regard to the case of ASCII letters.
  static func equalsIgnoringCase(_ left: String, _ right: String) -> Bool {
    left.withUTF8Span { left in right.withUTF8Span { equalsIgnoringCase(left, $0) } }
  }

  private static func equalsIgnoringCase(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    for index in left.indices where left[index] != right[index] {
      guard lowercased(left[index]) == lowercased(right[index]) else { return false }
    }
    return true
  }

  private static func contains(_ set: String, _ byte: UInt8) -> Bool {
    set.utf8.contains(byte)
  }
}
