import CLibrary

package enum Terminal {
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Returns the columns of the terminal behind a descriptor.
  ///
  /// Without a terminal, the variable `COLUMNS` is used, and without that, 80.
  package static func width(of descriptor: Int32) -> Int {
    var size = winsize()
    // Safety: TIOCGWINSZ writes one winsize, which outlives the call.
    if unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 {
      return Int(size.ws_col)
    }
    let columns = Argument.environment("COLUMNS")?.text.flatMap { Int($0) } ?? 80
    return min(max(columns, 20), 1000)
  }
}

/// Returns the columns that text takes on a terminal: two for wide East Asian characters and emoji.
func displayWidth(_ text: String) -> Int {
  text.reduce(0) { sum, character in sum + (isWide(character) ? 2 : 1) }
}

/// Returns whether a character takes two columns; follows the main ranges of Unicode's East Asian
/// Width.
private func isWide(_ character: Character) -> Bool {
  guard let scalar = character.unicodeScalars.first else { return false }
  switch scalar.value {
  case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
    0xA000...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
    0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
    return true
  default: return false
  }
}
