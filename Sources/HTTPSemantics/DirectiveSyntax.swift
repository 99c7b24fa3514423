/// One directive of a `Cache-Control` list, with its argument (RFC 9111, section 5.2).
struct DirectiveSyntax {
  /// The part after the name.
  enum Argument {
    case none
    /// The bytes after `=`, or between quotation marks there; both forms mean the same.
    ///
    /// Escapes are not decoded: numbers and field names have none.
    case value(Range<Int>)
    /// An invalid argument: white space around `=`, or text after the closing quote.
    case malformed
  }

  let directive: CacheDirective

  /// The part after the name.
  let argument: Argument

  /// Reads a member; `nil` if it does not start with the name of a directive.
  init?(_ line: Span<UInt8>, _ member: Range<Int>) {
    var end = member.lowerBound
    while end < member.upperBound, ASCII.isTokenByte(line[end]) { end += 1 }
    guard end > member.lowerBound, let name = PackedName(line, member.lowerBound..<end),
      let directive = CacheDirective(name)
    else { return nil }
    self.directive = directive
    argument = Self.argument(line, end..<member.upperBound)
  }

  private static func argument(_ line: Span<UInt8>, _ rest: Range<Int>) -> Argument {
    if rest.isEmpty { return .none }
    guard line[rest.lowerBound] == UInt8(ascii: "=") else { return .malformed }
    let value = (rest.lowerBound + 1)..<rest.upperBound
    guard let first = value.first.map({ line[$0] }), !ListSyntax.isWhiteSpace(first) else {
      return .malformed
    }
    guard first == UInt8(ascii: "\"") else { return .value(value) }
    let close = value.upperBound - 1
    guard ListSyntax.closingQuote(in: line, after: value.lowerBound) == close else {
      return .malformed
    }
    return .value((value.lowerBound + 1)..<close)
  }
}
