/// Brings lists of preferences, such as `Accept-Language`, to a normal form: neither the order of
/// the members nor the case of their names says anything (RFC 9110, sections 12.4.2 and 12.5).
struct Preferences {
  private let value: [UInt8]
  /// The normal forms of the members, one after the other.
  private var bytes: [UInt8] = []
  private var members: [Range<Int>] = []

  /// Returns `de,en;q=0.5` for ` EN ; Q=0.50, de`; nil for what is not understood.
  ///
  /// - Complexity: O(*n* log *n*) in the length of the value.
  static func normalized(_ value: [UInt8]) -> [UInt8]? {
    var list = Preferences(value)
    guard !value.contains(UInt8(ascii: "\"")), list.readMembers() else { return nil }
    return list.sorted()
  }

  private init(_ value: [UInt8]) {
    self.value = value
    bytes.reserveCapacity(value.count)
    members.reserveCapacity(8)
  }

  /// Reads all members that are not empty; false if one is not understood.
  private mutating func readMembers() -> Bool {
    var start = 0
    while start < value.count {
      let end = end(of: start..<value.count, at: UInt8(ascii: ","))
      let begin = bytes.count
      guard readMember(trimmed(start..<end)) else { return false }
      if bytes.count > begin { members.append(begin..<bytes.count) }
      start = end + 1
    }
    return true
  }

  private mutating func readMember(_ member: Range<Int>) -> Bool {
    if member.isEmpty { return true }
    var end = end(of: member, at: UInt8(ascii: ";"))
    appendLowercased(trimmed(member.lowerBound..<end))
    while end < member.upperBound {
      let start = end + 1
      end = self.end(of: start..<member.upperBound, at: UInt8(ascii: ";"))
      guard readParameter(trimmed(start..<end)) else { return false }
    }
    return true
  }

  private mutating func readParameter(_ parameter: Range<Int>) -> Bool {
    let equals = end(of: parameter, at: UInt8(ascii: "="))
    guard equals < parameter.upperBound else { return false }
    if equals - parameter.lowerBound == 1, value[parameter.lowerBound] | 0x20 == UInt8(ascii: "q") {
      return readWeight((equals + 1)..<parameter.upperBound)
    }
    bytes.append(UInt8(ascii: ";"))
    appendLowercased(parameter.lowerBound..<equals)
    bytes += value[equals..<parameter.upperBound]
    return true
  }

  /// Writes a weight in its shortest form and the weight 1 not at all; false if it is none
  /// (RFC 9110, section 12.4.2).
  private mutating func readWeight(_ weight: Range<Int>) -> Bool {
    guard (1...5).contains(weight.count) else { return false }
    let whole = value[weight.lowerBound]
    guard whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1"),
      weight.count == 1 || value[weight.lowerBound + 1] == UInt8(ascii: ".")
    else { return false }
    var digits = value[weight].dropFirst(2)
    guard digits.allSatisfy(ASCII.isDigit) else { return false }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    if whole == UInt8(ascii: "1") { return digits.isEmpty }
    bytes += ";q=0".utf8
    if !digits.isEmpty {
      bytes.append(UInt8(ascii: "."))
      bytes += digits
    }
    return true
  }

  /// Returns the members in the order of their bytes.
  private func sorted() -> [UInt8] {
    let members = members.sorted(by: precedes)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + members.count)
    for member in members {
      if !result.isEmpty { result.append(UInt8(ascii: ",")) }
      for index in member { result.append(bytes[index]) }
    }
    return result
  }

  private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
    for offset in 0..<min(left.count, right.count) {
      let one = bytes[left.lowerBound + offset]
      let other = bytes[right.lowerBound + offset]
      if one != other { return one < other }
    }
    return left.count < right.count
  }

  private mutating func appendLowercased(_ range: Range<Int>) {
    for index in range { bytes.append(ASCII.lowercased(value[index])) }
  }

  /// Returns the index of the next such byte in a range, or the end of the range.
  private func end(of range: Range<Int>, at byte: UInt8) -> Int {
    var index = range.lowerBound
    while index < range.upperBound, value[index] != byte { index += 1 }
    return index
  }

  private func trimmed(_ range: Range<Int>) -> Range<Int> {
    ListSyntax.trimmed(value.span, range)
  }
}
