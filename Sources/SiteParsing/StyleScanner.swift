/// Finds the URLs in a style sheet: `url(...)`, and the strings of `@import` and `image-set()`.
///
/// A tokenizer of CSS Syntax 3 as far as URLs need it: comments, strings, escapes. Whatever else is
/// in the text is skipped, so broken style sheets give the URLs that they have.
package struct StyleScanner {
  private let bytes: [UInt8]
  private var index = 0
  private var found: [String] = []
  /// Whether a string is a URL here: after `@import`, or in `image-set()`.
  private var takesStrings = false
  /// How many parentheses of `image-set()` are open; 0 outside of it.
  private var openInSet = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the URLs in the order of the text, at most one more than ``References/maximumCount``.
  ///
  /// - Complexity: O(*n*).
  package static func references(in bytes: [UInt8]) -> [String] {
    var scanner = StyleScanner(bytes)
    while scanner.index < bytes.count, scanner.found.count <= References.maximumCount {
      scanner.step()
    }
    return scanner.found
  }

  private mutating func step() {
    let byte = bytes[index]
    switch byte {
    case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): skipComment()
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      index += 1
      let text = string(until: byte)
      if takesStrings, let text { add(text) }
      if openInSet == 0 { takesStrings = false }
    case UInt8(ascii: "("):
      index += 1
      if openInSet > 0 { openInSet += 1 }
    case UInt8(ascii: ")"):
      index += 1
      if openInSet > 0 { openInSet -= 1 }
      if openInSet == 0 { takesStrings = false }
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ";"):
      index += 1
      (takesStrings, openInSet) = (false, 0)
    case UInt8(ascii: "@"):
      index += 1
      takesStrings = name() == "import"
    case _ where isNameByte(byte): readWord()
    default: index += 1
    }
  }

  private mutating func readWord() {
    let word = name()
    guard index < bytes.count, bytes[index] == UInt8(ascii: "(") else { return }
    if word == "url" || word == "src" {
      index += 1
      readURL()
    } else if word == "image-set" || word == "-webkit-image-set" {
      index += 1
      (takesStrings, openInSet) = (true, 1)
    }
  }

  private mutating func readURL() {
    while index < bytes.count, isSpace(bytes[index]) { index += 1 }
    guard index < bytes.count else { return }
    let first = bytes[index]
    if openInSet == 0 { takesStrings = false }
    if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
      index += 1
      if let text = string(until: first) { add(text) }
    } else if let text = string(until: UInt8(ascii: ")"), isBare: true) {
      return add(text)
    }
    // Behind a string there may be modifiers.
    while index < bytes.count, bytes[index] != UInt8(ascii: ")"), bytes[index] != UInt8(ascii: ";")
    { index += 1 }
    if index < bytes.count, bytes[index] == UInt8(ascii: ")") { index += 1 }
  }

  /// Reads up to a delimiter and behind it; `nil` for a string that is not closed in its line.
  private mutating func string(until end: UInt8, isBare: Bool = false) -> [UInt8]? {
    var text: [UInt8] = []
    while index < bytes.count {
      let byte = bytes[index]
      if byte == end {
        index += 1
        return text
      }
      if byte == UInt8(ascii: "\\") {
        appendEscape(to: &text)
        continue
      }
      if !isBare, byte == 10 || byte == 12 || byte == 13 { return nil }
      index += 1
      text.append(byte)
    }
    // An end of file closes everything.
    return text
  }

  /// Reads an escape (CSS Syntax 3, section 4.3.7).
  private mutating func appendEscape(to text: inout [UInt8]) {
    index += 1
    var value: UInt32 = 0
    var digits = 0
    while digits < 6, index < bytes.count,
      let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue
    {
      value = value << 4 | UInt32(digit)
      (digits, index) = (digits + 1, index + 1)
    }
    if digits > 0 {
      if index < bytes.count, isSpace(bytes[index]) { index += 1 }
      text += Array(String(Character(Unicode.Scalar(value) ?? "\u{FFFD}")).utf8)
    } else if index < bytes.count {
      // A line end after a backslash belongs to nothing.
      if bytes[index] != 10, bytes[index] != 13, bytes[index] != 12 { text.append(bytes[index]) }
      index += 1
    }
  }

  private mutating func skipComment() {
    index += 2
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
        index += 2
        return
      }
      index += 1
    }
  }

  /// Reads a name, and returns it in lower case; names longer than 20 bytes are of no interest.
  private mutating func name() -> String {
    var text: [UInt8] = []
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\") {
        appendEscape(to: &text)
      } else if isNameByte(bytes[index]) {
        if text.count <= 20 { text.append(bytes[index]) }
        index += 1
      } else {
        break
      }
    }
    return text.count <= 20 ? String(decoding: text, as: UTF8.self).lowercased() : ""
  }

  private mutating func add(_ text: [UInt8]) {
    found.append(String(decoding: text, as: UTF8.self))
  }

  private func peek(_ distance: Int) -> UInt8? {
    index + distance < bytes.count ? bytes[index + distance] : nil
  }

  private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
      UInt8(ascii: "\\"), 0x80...:
      true
    default: false
    }
  }
}
