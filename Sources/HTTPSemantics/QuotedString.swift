/// Writes quoted strings (RFC 9110, section 5.6.4).
package enum QuotedString {
  /// Returns the text between quotes, with a backslash before each quote and backslash in it.
  ///
  /// Goes by scalars: a quote with a combining mark after it is one character of Swift, and not equal
  /// to a quote, but whoever reads bytes sees the quote.
  ///
  /// - Complexity: O(*n*) in the length of the text.
  package static func quote(_ text: String) -> String {
    var quoted = "\"".unicodeScalars
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
      quoted.append(scalar)
    }
    quoted.append("\"")
    return String(quoted)
  }
}
