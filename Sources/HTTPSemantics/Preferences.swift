/// Normalisation of lists of preferences, such as `Accept-Language`: the order of the members and
/// the case of their names have no meaning (RFC 9110, sections 12.4.2 and 12.5).
struct Preferences {
  /// The maximum number of members that are sorted; a longer list keeps its order.
  static let maximumMembers = 32

  /// The normal forms of the members, concatenated.
  private var bytes: [UInt8] = []
  private var members: [Range<Int>] = []

  /// Returns `de,en;q=0.5` for ` EN ; Q=0.50, de`; `nil` if the value cannot be parsed.
  ///
  /// - Complexity: O(*n*) in the length of the value.
  static func normalized(_ value: [UInt8]) -> [UInt8]? {
    // A comma or semicolon in quotation marks would not be a separator.
    guard !value.contains(UInt8(ascii: "\"")) else { return nil }
    var list = Preferences()
    list.bytes.reserveCapacity(value.count)
    list.members.reserveCapacity(8)
    guard value.withSpan({ list.readMembers(of: $0) }) else { return nil }
    return list.sorted()
  }

  /// Reads all members that are not empty; returns false if one cannot be parsed.
  private mutating func readMembers(of value: Span<UInt8>) -> Bool {
    var start = 0
    while start < value.count {
      let end = Self.end(of: start..<value.count, in: value, at: UInt8(ascii: ","))
      let begin = bytes.count
      guard readMember(ListSyntax.trimmed(value, start..<end), in: value) else { return false }
      if bytes.count > begin {
        guard members.count < Self.maximumMembers else { return false }
        members.append(begin..<bytes.count)
      }
      start = end + 1
    }
    return true
  }

  private mutating func readMember(_ member: Range<Int>, in value: Span<UInt8>) -> Bool {
    if member.isEmpty { return true }
    var end = Self.end(of: member, in: value, at: UInt8(ascii: ";"))
    appendLowercased(ListSyntax.trimmed(value, member.lowerBound..<end), of: value)
    while end < member.upperBound {
      let start = end + 1
      end = Self.end(of: start..<member.upperBound, in: value, at: UInt8(ascii: ";"))
      guard readParameter(ListSyntax.trimmed(value, start..<end), in: value) else { return false }
    }
    return true
  }

  private mutating func readParameter(_ parameter: Range<Int>, in value: Span<UInt8>) -> Bool {
    let equals = Self.end(of: parameter, in: value, at: UInt8(ascii: "="))
    guard equals < parameter.upperBound else { return false }
    if equals - parameter.lowerBound == 1, value[parameter.lowerBound] | 0x20 == UInt8(ascii: "q") {
      return readWeight((equals + 1)..<parameter.upperBound, in: value)
    }
    bytes.append(UInt8(ascii: ";"))
    appendLowercased(parameter.lowerBound..<equals, of: value)
    for index in equals..<parameter.upperBound { bytes.append(value[index]) }
    return true
  }

  /// Writes a weight in its shortest form, and omits the weight 1; returns false if it is not a
  /// weight (RFC 9110, section 12.4.2).
  private mutating func readWeight(_ weight: Range<Int>, in value: Span<UInt8>) -> Bool {
    guard (1...5).contains(weight.count) else { return false }
    let whole = value[weight.lowerBound]
    guard whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1"),
      weight.count == 1 || value[weight.lowerBound + 1] == UInt8(ascii: ".")
    else { return false }
    var digits = min(weight.lowerBound + 2, weight.upperBound)..<weight.upperBound
    guard digits.allSatisfy({ ASCII.isDigit(value[$0]) }) else { return false }
    while let last = digits.last, value[last] == UInt8(ascii: "0") {
      digits = digits.lowerBound..<last
    }
    if whole == UInt8(ascii: "1") { return digits.isEmpty }
    bytes += ";q=0".utf8
    if !digits.isEmpty { bytes.append(UInt8(ascii: ".")) }
    for index in digits { bytes.append(value[index]) }
    return true
  }

  /// Returns the members sorted by their bytes.
  private func sorted() -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + members.count)
    for member in members.sorted(by: { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }) {
      if !result.isEmpty { result.append(UInt8(ascii: ",")) }
      result += bytes[member]
    }
    return result
  }

  private mutating func appendLowercased(_ range: Range<Int>, of value: Span<UInt8>) {
    for index in range { bytes.append(ASCII.lowercased(value[index])) }
  }

  /// Returns the index of the next `byte` in a range, or the end of the range.
  private static func end(of range: Range<Int>, in value: Span<UInt8>, at byte: UInt8) -> Int {
    var index = range.lowerBound
    while index < range.upperBound, value[index] != byte { index += 1 }
    return index
  }
}
