/// A text that may be a URL, but cannot be parsed as one, without what may be a name and password.
///
/// As its parts are not known, that is everything in front of the last `@`, behind the scheme.
package struct HiddenCredentials {
  /// The scheme with its `://`; empty if the text has none.
  package let scheme: ArraySlice<UInt8>

  /// The bytes behind the last `@`.
  package let rest: ArraySlice<UInt8>

  /// Takes a text apart; `nil` if it has no `@`.
  package init?(_ text: [UInt8]) {
    guard let at = text.lastIndex(of: UInt8(ascii: "@")) else { return nil }
    let name = text[..<at].prefix { !"/:".utf8.contains($0) }
    let hasScheme = text[name.endIndex..<at].starts(with: "://".utf8)
    scheme = text[..<(hasScheme ? name.endIndex + 3 : 0)]
    rest = text[(at + 1)...]
  }
}
