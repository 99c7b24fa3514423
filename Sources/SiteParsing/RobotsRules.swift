package import HTTPSemantics

/// The rules of a robots.txt for one crawler (RFC 9309).
package struct RobotsRules: Sendable, Hashable {
  /// The limit of the part of a robots.txt that is read, in bytes; RFC 9309, section 2.5, wants at
  /// least this.
  package static let maximumBytes = 500 * 1024

  /// The limit of different rules with an asterisk. Each is searched for in all of the URL.
  package static let maximumWildcards = 1000

  package static let allowingAll = RobotsRules()
  private var rules: [RobotsRule]

  private init() { rules = [] }

  /// Reads a robots.txt.
  ///
  /// - Parameters:
  ///   - bytes: The file; what is beyond ``maximumBytes`` is not used.
  ///   - agent: The product token of this crawler, compared without regard to case. If no group has
  ///     it, the groups for `*` count.
  /// - Returns: `nil` if there are more than ``maximumWildcards`` rules with an asterisk.
  package init?(_ bytes: [UInt8], for agent: String) {
    let agent = agent.lowercased()
    var own: [RobotsRule]?
    var general: [RobotsRule] = []
    // The groups that the lines belong to, and whether the line before named one.
    var (isOwn, isGeneral, isNaming) = (false, false, false)
    for (key, value) in Self.lines(bytes) {
      switch key {
      case "user-agent":
        if !isNaming { (isOwn, isGeneral) = (false, false) }
        isNaming = true
        let name = Self.productToken(value)
        if name == agent {
          isOwn = true
          own = own ?? []
        }
        if value == [asterisk] { isGeneral = true }
      case "allow", "disallow":
        isNaming = false
        guard let first = value.first, first == UInt8(ascii: "/") || first == asterisk
        else { continue }
        let rule = RobotsRule(pattern: value, isAllowed: key == "allow")
        if isOwn { own?.append(rule) }
        if isGeneral { general.append(rule) }
      default: break
      }
    }
    // Of rules of one length the allowing one counts (RFC 9309, section 2.2.2).
    rules = Set(own ?? general).sorted {
      $0.length != $1.length ? $0.length > $1.length : $0.isAllowed && !$1.isAllowed
    }
    if rules.count(where: \.hasWildcard) > Self.maximumWildcards { return nil }
  }

  /// The memory that the rules take, in bytes, roughly.
  package var cost: Int { rules.reduce(0) { $0 + $1.length + 64 } }

  package func allows(_ url: NormalizedURL) -> Bool {
    if rules.isEmpty || url.target == "/robots.txt" { return true }
    let path = Self.literal(Array(url.target.utf8)[...])
    return rules.first { $0.matches(path) }?.isAllowed ?? true
  }

  /// Returns the keys, in lower case, and values of the lines; comments are left out. A pattern need
  /// not be UTF-8, as a URL need not be.
  private static func lines(_ bytes: [UInt8]) -> some Sequence<(key: String, value: [UInt8])> {
    var text = bytes.prefix(maximumBytes)
    if bytes.count > maximumBytes {
      // The last line is cut, and would mean something else.
      text = text[..<(text.lastIndex { $0 == 10 || $0 == 13 } ?? 0)]
    }
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    return text.split { $0 == 10 || $0 == 13 }.lazy.compactMap { line in
      let line = line.prefix { $0 != UInt8(ascii: "#") }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let value = FieldBytes.trimmed(line[(colon + 1)...])
      return (
        String(decoding: FieldBytes.trimmed(line[..<colon]), as: UTF8.self).lowercased(),
        Array(value)
      )
    }
  }

  /// Returns the name in a `User-agent` line, in lower case, without a version.
  private static func productToken(_ value: [UInt8]) -> String {
    let text = String(decoding: value, as: UTF8.self)
    let name = text.prefix { $0.isASCII && ($0.isLetter || $0 == "-" || $0 == "_") }
    return name.lowercased()
  }

  /// Replaces the escapes of the characters that patterns have a meaning for (RFC 9309, section
  /// 2.2.3).
  fileprivate static func literal(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let escaped =
        bytes[index] == UInt8(ascii: "%")
        ? PercentEncoding.escapedByte(in: bytes, at: index) : nil
      if let escaped, escaped == asterisk || escaped == UInt8(ascii: "$") {
        result.append(escaped)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return result
  }
}

private let asterisk = UInt8(ascii: "*")

/// One line of a robots.txt that allows or forbids.
private struct RobotsRule: Sendable, Hashable {
  /// The texts between the asterisks; the first one stands at the start of the path.
  private let parts: [[UInt8]]
  /// Whether the pattern has to reach the end of the path.
  private let isAnchored: Bool
  let isAllowed: Bool
  var hasWildcard: Bool { parts.count > 1 }
  /// The length of the pattern, in bytes: the longest pattern that matches decides.
  let length: Int

  init(pattern: [UInt8], isAllowed: Bool) {
    var bytes = PercentEncoding.normalizedTarget(pattern[...])[...]
    length = bytes.count
    isAnchored = bytes.last == UInt8(ascii: "$")
    if isAnchored { bytes = bytes.dropLast() }
    parts = bytes.split(separator: asterisk, omittingEmptySubsequences: false)
      .map(RobotsRules.literal)
    self.isAllowed = isAllowed
  }

  /// Returns whether the pattern matches the start of a path; each part is taken where it comes
  /// first, so there is no way back.
  func matches(_ path: [UInt8]) -> Bool {
    guard path.starts(with: parts[0]) else { return false }
    var rest = path.dropFirst(parts[0].count)
    guard let last = parts.dropFirst().last else { return !isAnchored || rest.isEmpty }
    for part in parts.dropFirst().dropLast(isAnchored ? 1 : 0) where !part.isEmpty {
      guard let end = Self.end(of: part, in: rest) else { return false }
      rest = rest[end...]
    }
    return !isAnchored || (rest.count >= last.count && rest.suffix(last.count).elementsEqual(last))
  }

  /// Returns where the first occurrence of a part ends, by the algorithm of Knuth, Morris and Pratt;
  /// `nil` if there is none. For bytes, `firstRange(of:)` takes fifty times as long.
  ///
  /// - Complexity: O(path).
  private static func end(of part: [UInt8], in path: ArraySlice<UInt8>) -> Int? {
    guard part.count <= path.count else { return nil }
    // For each beginning of the part: the length of the longest shorter one that it ends with.
    var borders = [0]
    var length = 0
    for byte in part.dropFirst() {
      while length > 0, part[length] != byte { length = borders[length - 1] }
      if part[length] == byte { length += 1 }
      borders.append(length)
    }
    length = 0
    for index in path.indices {
      while length > 0, part[length] != path[index] { length = borders[length - 1] }
      if part[length] == path[index] { length += 1 }
      if length == part.count { return index + 1 }
    }
    return nil
  }
}
