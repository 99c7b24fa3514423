/// Base 64 as in RFC 4648, section 4: the standard alphabet, always padded.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static let padding = UInt8(ascii: "=")

  /// Appends the digits of `bytes` to `target`.
  package static func encode(_ bytes: [UInt8], into target: inout [UInt8]) {
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var group: UInt32 = 0
      for place in 0..<3 {
        group = group << 8 | (place < count ? UInt32(bytes[index + place]) : 0)
      }
      for place in 0..<4 {
        let digit = alphabet[Int(group >> UInt32(18 - 6 * place) & 63)]
        target.append(place <= count ? digit : padding)
      }
      index += 3
    }
  }

  /// Returns the bytes of `text`, or `nil` if its length is not a multiple of four, if it contains
  /// another character, or if the unused bits of the last digit are not zero. So every value has
  /// exactly one spelling.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    let digits = text.count - text.suffix(2).count(where: { $0 == padding })
    var result: [UInt8] = []
    result.reserveCapacity(digits * 3 / 4)
    var group: UInt32 = 0
    for index in 0..<digits {
      guard let value = value(of: text[index]) else { return nil }
      group = group << 6 | value
      switch index % 4 {
      case 1: result.append(UInt8(truncatingIfNeeded: group >> 4))
      case 2: result.append(UInt8(truncatingIfNeeded: group >> 2))
      case 3: result.append(UInt8(truncatingIfNeeded: group))
      default: break
      }
    }
    switch digits % 4 {
    case 0: return result
    case 2: return group & 15 == 0 ? result : nil
    case 3: return group & 3 == 0 && text[digits] == padding ? result : nil
    default: return nil
    }
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case 65...90: UInt32(digit) - 65
    case 97...122: UInt32(digit) - 71
    case 48...57: UInt32(digit) + 4
    case 43: 62
    case 47: 63
    default: nil
    }
  }
}
