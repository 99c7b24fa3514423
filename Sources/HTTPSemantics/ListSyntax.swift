/// Lists in field values (RFC 9110, section 5.6.1), split at the commas outside quoted strings.
package enum ListSyntax {
  /// An iterator over the members of one field line, without allocation.
  ///
  /// Each line with a name is a list, and all of them together are one list. A quoted string cannot
  /// continue in the next line. A quotation mark that is never closed is an ordinary byte, so it
  /// cannot hide the directives after it.
  package struct Cursor {
    private var position = 0
    private var quotesEnd = false

    /// Creates a cursor before the first member.
    package init() {}

    /// Returns the range of the next member, without surrounding white space; `nil` at the end.
    ///
    /// Empty members are left out (RFC 9110, section 5.6.1.2). All calls must have the same line.
    ///
    /// - Complexity: O(*n*) in the length of the line, for all members together.
    package mutating func next(in line: Span<UInt8>) -> Range<Int>? {
      while position < line.count {
        let start = position
        let end = memberEnd(in: line)
        position = end + 1
        let member = ListSyntax.trimmed(line, start..<end)
        if !member.isEmpty { return member }
      }
      return nil
    }

    private mutating func memberEnd(in line: Span<UInt8>) -> Int {
      var index = position
      while index < line.count {
        let byte = line[index]
        if byte == UInt8(ascii: ",") { return index }
        if byte == UInt8(ascii: "\""), !quotesEnd {
          if let close = ListSyntax.closingQuote(in: line, after: index) {
            index = close
          } else {
            quotesEnd = true
          }
        }
        index += 1
      }
      return index
    }
  }

  /// Returns the members of all lines with a name, in their order.
  ///
  /// - Complexity: O(*n*) in the bytes of those lines.
  package static func members(of name: String, in fields: HTTPFields) -> [String] {
    var members: [String] = []
    for field in fields where field.isNamed(name) {
      var cursor = Cursor()
      while let range = field.value.withSpan({ cursor.next(in: $0) }) {
        members.append(String(decoding: field.value[range], as: UTF8.self))
      }
    }
    return members
  }

  /// Returns the index of the quotation mark that closes the string which begins at `open`; `nil`
  /// if there is none.
  static func closingQuote(in line: Span<UInt8>, after open: Int) -> Int? {
    var index = open + 1
    while index < line.count {
      switch line[index] {
      case UInt8(ascii: "\""): return index
      case UInt8(ascii: "\\"): index += 2
      default: index += 1
      }
    }
    return nil
  }

  /// Returns a range without the spaces and tabs at its ends (`OWS`, RFC 9110, section 5.6.3).
  package static func trimmed(_ line: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
    var lower = range.lowerBound
    var upper = range.upperBound
    while lower < upper, isWhiteSpace(line[lower]) { lower += 1 }
    while lower < upper, isWhiteSpace(line[upper - 1]) { upper -= 1 }
    return lower..<upper
  }

  package static func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09
  }
}
