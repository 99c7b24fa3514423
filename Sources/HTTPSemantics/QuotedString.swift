/// Quoted strings (RFC 9110, section 5.6.4).
package enum QuotedString {
  /// Returns the text in quotation marks, with a backslash before each quotation mark and
  /// backslash.
  ///
  /// The text is processed by scalars. A quotation mark with a combining mark after it is one
  /// Character in Swift, which is not equal to a quotation mark; but a reader of the bytes sees a
  /// quotation mark.
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
