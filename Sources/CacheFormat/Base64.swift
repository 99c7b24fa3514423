/// Base 64 as in RFC 4648, section 4: the standard alphabet, always padded.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static let padding = UInt8(ascii: "=")

  /// Returns the digits of `bytes`.
  package static func encode(_ bytes: [UInt8]) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var group: UInt32 = 0
      for place in 0..<3 {
        group = group << 8 | (place < count ? UInt32(bytes[index + place]) : 0)
      }
      for place in 0..<4 {
        let digit = alphabet[Int(group >> UInt32(18 - 6 * place) & 63)]
        digits.append(place <= count ? digit : padding)
      }
      index += 3
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Returns the bytes of `text`, or `nil` if its length is not a multiple of four, if it contains
  /// another character, or if the unused bits of the last digit are not zero. So every value has
  /// exactly one spelling.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    let digits = text.count - text.suffix(2).count(where: { $0 == padding })
    // One digit more than a whole number of groups is too few for a byte.
    guard digits % 4 != 1, digits + 2 >= text.count else { return nil }
    var result = [UInt8](repeating: 0, count: digits * 3 / 4)
    let whole = digits / 4
    for group in 0..<whole {
      let (from, to) = (group * 4, group * 3)
      let (first, second) = (value(of: text[from]), value(of: text[from + 1]))
      let (third, fourth) = (value(of: text[from + 2]), value(of: text[from + 3]))
      guard first | second | third | fourth < 64 else { return nil }
      let bits = first << 18 | second << 12 | third << 6 | fourth
      result[to] = UInt8(truncatingIfNeeded: bits >> 16)
      result[to + 1] = UInt8(truncatingIfNeeded: bits >> 8)
      result[to + 2] = UInt8(truncatingIfNeeded: bits)
    }
    guard digits % 4 != 0 else { return result }
    // Two digits have four unused bits, three have two.
    let rest = text[(whole * 4)..<digits].map(value(of:))
    guard rest.allSatisfy({ $0 < 64 }), text[digits] == padding else { return nil }
    var bits = rest.reduce(0) { $0 << 6 | $1 }
    let unused: UInt32 = digits % 4 == 2 ? 4 : 2
    guard bits & (1 << unused - 1) == 0 else { return nil }
    bits >>= unused
    for place in (whole * 3..<result.count).reversed() {
      result[place] = UInt8(truncatingIfNeeded: bits)
      bits >>= 8
    }
    return result
  }

  /// Returns the six bits of a digit; 64 for another byte.
  private static func value(of digit: UInt8) -> UInt32 { values[Int(digit)] }

  private static let values: [UInt32] = {
    var values = [UInt32](repeating: 64, count: 256)
    for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt32(value) }
    return values
  }()
}
