internal import CacheFormat

/// Returns bytes as text that has no control characters.
///
/// Control characters (C0, DEL, C1), invisible direction marks and bytes that are not UTF-8 become
/// escapes (`\n`, `\x1b`, `\u{202e}`, `\xff`), and a backslash is doubled, so the result identifies
/// the bytes exactly. Keys come from the network: an escape sequence in a key must not clear the
/// screen or make the key look like another one.
package func terminalSafe(_ bytes: [UInt8]) -> String {
  var result = ""
  result.reserveCapacity(bytes.count)
  var parser = Unicode.UTF8.ForwardParser()
  var iterator = bytes.makeIterator()
  var position = 0
  while true {
    switch parser.parseScalar(from: &iterator) {
    case .valid(let encoded):
      let scalar = Unicode.UTF8.decode(encoded)
      if scalar == "\\" { result += "\\" }
      appendSafely(scalar, to: &result)
      position += encoded.count
    case .error(let length):
      for byte in bytes[position..<(position + length)] { result += byteEscape(byte) }
      position += length
    case .emptyInput:
      return result
    }
  }
}

/// Returns text without control characters; see ``terminalSafe(_:)-([UInt8])``.
package func terminalSafe(_ text: String) -> String { terminalSafe(Array(text.utf8)) }

/// Returns text without control characters, in which a backslash stays one: text that is escaped already
/// is not changed.
func withoutControls(_ text: String) -> String {
  text.unicodeScalars.reduce(into: "") { appendSafely($1, to: &$0) }
}

/// Appends one scalar, as an escape if a terminal would act on it.
private func appendSafely(_ scalar: Unicode.Scalar, to result: inout String) {
  switch scalar {
  case "\n": result += "\\n"
  case "\r": result += "\\r"
  case "\t": result += "\\t"
  case "\u{0}"..."\u{1F}", "\u{7F}":
    result += byteEscape(UInt8(truncatingIfNeeded: scalar.value))
  case _ where scalar.steersTerminal:
    result += "\\u{" + String(scalar.value, radix: 16) + "}"
  default:
    result.unicodeScalars.append(scalar)
  }
}

private func byteEscape(_ byte: UInt8) -> String { "\\x" + [byte].hexadecimal }
