/// Reads and writes percent-escapes (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Returns the normal form (RFC 3986, section 6.2.2.2): decodes the escapes of unreserved bytes,
  /// changes the other escapes to upper case, and escapes the bytes for which `isAllowed` returns
  /// false.
  ///
  /// - Complexity: O(*n*).
  static func normalized(_ bytes: ArraySlice<UInt8>, isAllowed: (UInt8) -> Bool) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%") {
        if let value = escapedByte(in: bytes, at: index) {
          if ASCII.isUnreserved(value) {
            result.append(value)
          } else {
            appendEscape(of: value, to: &result)
          }
          index += 3
          continue
        }
        // This is not an escape. Unescaped, it could form one with the bytes that are decoded after
        // it, as in "%%341". Then the result would not be in normal form.
        appendEscape(of: byte, to: &result)
      } else if isAllowed(byte) {
        result.append(byte)
      } else {
        appendEscape(of: byte, to: &result)
      }
      index += 1
    }
    return result
  }

  /// Returns path and query, or a pattern for them, in normal form; dot segments stay.
  ///
  /// - Complexity: O(*n*).
  package static func normalizedTarget(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    normalized(bytes, isAllowed: ASCII.isTargetByte)
  }

  /// Returns bytes of ASCII as they are, and an escape for each byte for which `isKept` returns
  /// false.
  ///
  /// - Complexity: O(*n*).
  package static func escaped(
    _ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool
  ) -> String {
    var result: [UInt8] = []
    for byte in bytes {
      if isKept(byte) { result.append(byte) } else { appendEscape(of: byte, to: &result) }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the bytes with all escapes decoded; `nil` if a `%` begins no escape, unless `isLax`,
  /// when it stays.
  ///
  /// - Complexity: O(*n*).
  package static func decoded(_ bytes: ArraySlice<UInt8>, isLax: Bool = false) -> [UInt8]? {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      let escaped = byte == UInt8(ascii: "%") ? escapedByte(in: bytes, at: index) : nil
      guard escaped != nil || byte != UInt8(ascii: "%") || isLax else { return nil }
      result.append(escaped ?? byte)
      index += escaped == nil ? 1 : 3
    }
    return result
  }

  /// Returns the byte of the escape that begins at an index, or nil if none does.
  package static func escapedByte(in bytes: ArraySlice<UInt8>, at index: Int) -> UInt8? {
    guard bytes.endIndex - index >= 3, let high = ASCII.hexValue(bytes[index + 1]),
      let low = ASCII.hexValue(bytes[index + 2])
    else { return nil }
    return high << 4 | low
  }

  /// Appends `%` and two digits in upper case.
  package static func appendEscape(of byte: UInt8, to result: inout [UInt8]) {
    result.append(UInt8(ascii: "%"))
    result.append(ASCII.hexDigit(byte >> 4))
    result.append(ASCII.hexDigit(byte & 0x0F))
  }
}
