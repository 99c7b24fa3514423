/// Reads JSON (RFC 8259) from bytes, one value for each call.
///
/// The input is bounded: nesting by `maximumDepth`, the members of one object by `maximumMembers`.
/// No number in the input determines how much memory is allocated. Duplicate members, bytes after
/// the end and text that is not UTF-8 are refused.
package struct JSONReader {
  /// The maximum nesting depth of arrays and objects; it bounds the recursion.
  static let maximumDepth = 16

  static let maximumMembers = 64

  private(set) var offset = 0

  /// The name of the value being read, for error messages.
  var subject = "the document"

  private let bytes: [UInt8]
  private var depth = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  func checkEncoding() throws(FormatError) {
    guard String(validating: bytes, as: UTF8.self) == nil else { return }
    var parser = UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var offset = 0
    while case .valid(let scalar) = parser.parseScalar(from: &iterator) { offset += scalar.count }
    throw FormatError(.notJSON, at: offset, "the text is not UTF-8")
  }

  /// Checks that only white space follows.
  package mutating func finish() throws(FormatError) {
    guard peek() == nil else { throw syntaxError("there are bytes after the end") }
  }
}

// Arrays and objects.
extension JSONReader {
  /// Reads a text that is one object; `member` reads each member.
  ///
  /// - Returns: the number of bytes read.
  /// - Throws: ``FormatError`` with `notJSON` or `tooLarge`, or the error of `member`.
  package static func readDocument(
    _ bytes: [UInt8],
    _ member: (inout JSONReader, _ name: String) throws(FormatError) -> Void
  ) throws(FormatError) -> Int {
    var reader = JSONReader(bytes)
    try reader.checkEncoding()
    try reader.readObject { (reader, name) throws(FormatError) in
      reader.subject = String(decoding: name, as: UTF8.self)
      try member(&reader, reader.subject)
    }
    try reader.finish()
    return reader.offset
  }

  /// Reads an object. Calls `member` with each name; `member` must read the value.
  package mutating func readObject(
    _ member: (inout JSONReader, _ name: [UInt8]) throws(FormatError) -> Void
  ) throws(FormatError) {
    try enter("{", "an object")
    defer { depth -= 1 }
    if skip("}") { return }
    var names: [[UInt8]] = []
    repeat {
      let start = offset
      guard peek() == UInt8(ascii: "\"") else { throw syntaxError("a member's name is missing") }
      let name = try readString()
      if names.contains(name) {
        let text = String(decoding: name, as: UTF8.self)
        throw FormatError(.notJSON, at: start, "the member \"\(text)\" stands twice")
      }
      guard names.count < Self.maximumMembers else {
        throw FormatError(.tooLarge, at: start, "more than \(Self.maximumMembers) members")
      }
      names.append(name)
      guard skip(":") else { throw syntaxError("a colon is missing") }
      try member(&self, name)
    } while skip(",")
    guard skip("}") else { throw syntaxError("an object does not end") }
  }

  /// Reads an array of at most `limit` elements; `element` must read each of them.
  package mutating func readArray(
    limit: Int, _ element: (inout JSONReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    try enter("[", "an array")
    defer { depth -= 1 }
    if skip("]") { return }
    var count = 0
    repeat {
      count += 1
      guard count <= limit else { throw error(.tooLarge, "has more than \(limit) elements") }
      try element(&self)
    } while skip(",")
    guard skip("]") else { throw syntaxError("an array does not end") }
  }

  private mutating func enter(_ bracket: Unicode.Scalar, _ type: String) throws(FormatError) {
    guard peek() == UInt8(ascii: bracket) else { throw typeError(type) }
    guard depth < Self.maximumDepth else {
      throw syntaxError("values nest deeper than \(Self.maximumDepth)")
    }
    offset += 1
    depth += 1
  }

  package mutating func skipValue() throws(FormatError) {
    switch peek() {
    case UInt8(ascii: "{"):
      try readObject { (reader, _) throws(FormatError) in try reader.skipValue() }
    case UInt8(ascii: "["):
      try readArray(limit: .max) { (reader) throws(FormatError) in try reader.skipValue() }
    case UInt8(ascii: "\""): _ = try readString()
    case UInt8(ascii: "t"): try expectWord("true")
    case UInt8(ascii: "f"): try expectWord("false")
    case UInt8(ascii: "n"): try expectWord("null")
    default: try skipNumber()
    }
  }
}

// Numbers and words.
extension JSONReader {
  /// Reads a number without sign, fraction or exponent.
  package mutating func readUnsigned() throws(FormatError) -> UInt64 {
    guard let first = peek(), Self.isDigit(first) else { throw typeError("a whole number") }
    let start = offset
    try skipNumber()
    var value: UInt64 = 0
    for byte in bytes[start..<offset] {
      guard Self.isDigit(byte) else {
        throw FormatError(.wrongType, at: start, "\(subject) must be a whole number")
      }
      let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(UInt64(byte - 48))
      guard !overflow, !carry else {
        throw FormatError(.outOfBounds, at: start, "\(subject) exceeds 64 bits")
      }
      value = sum
    }
    return value
  }

  mutating func readBool() throws(FormatError) -> Bool {
    switch peek() {
    case UInt8(ascii: "t"):
      try expectWord("true")
      return true
    case UInt8(ascii: "f"):
      try expectWord("false")
      return false
    default:
      throw typeError("true or false")
    }
  }

  private mutating func expectWord(_ word: String) throws(FormatError) {
    guard bytes[offset...].starts(with: word.utf8) else { throw syntaxError("no JSON value") }
    offset += word.utf8.count
  }

  /// Skips `-`, an integer, a fraction and an exponent (section 6). An integer that starts with 0
  /// ends there: further digits are not part of the number, so they cause an error.
  private mutating func skipNumber() throws(FormatError) {
    let negative = take("-")
    let isZero = take("0")
    if !isZero {
      guard skipDigits() else { throw syntaxError(negative ? "no number" : "no JSON value") }
    }
    if take(".") {
      guard skipDigits() else { throw syntaxError("no digit after the point") }
    }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      guard skipDigits() else { throw syntaxError("no digit in the exponent") }
    }
  }

  private mutating func skipDigits() -> Bool {
    let start = offset
    while offset < bytes.count, Self.isDigit(bytes[offset]) { offset += 1 }
    return offset > start
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= 48 && byte <= 57
  }
}

// Single bytes and errors.
extension JSONReader {
  /// Returns the next byte that is not white space, without consuming it; `nil` at the end.
  mutating func peek() -> UInt8? {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x09, 0x0a, 0x0d: offset += 1
      case let byte: return byte
      }
    }
    return nil
  }

  /// Skips white space; then consumes the next byte if it is `byte`.
  private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: byte) else { return false }
    offset += 1
    return true
  }

  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard offset < bytes.count, bytes[offset] == UInt8(ascii: byte) else { return false }
    offset += 1
    return true
  }

  /// Returns the byte `distance` after the next one, without consuming it; `nil` past the end.
  func byte(after distance: Int = 0) -> UInt8? {
    offset + distance < bytes.count ? bytes[offset + distance] : nil
  }

  /// Consumes and returns `count` bytes, which must be there.
  mutating func takeBytes(_ count: Int) -> ArraySlice<UInt8> {
    defer { offset += count }
    return bytes[offset..<offset + count]
  }

  /// Consumes and returns the bytes of a string before its end, an escape or a control character.
  mutating func takePlain() -> ArraySlice<UInt8> {
    let start = offset
    while offset < bytes.count {
      let byte = bytes[offset]
      guard byte >= 0x20, byte != 0x22, byte != 0x5c else { break }
      offset += 1
    }
    return bytes[start..<offset]
  }

  /// Creates an error about the subject at the current place.
  package func error(_ code: FormatError.Code, _ what: String) -> FormatError {
    FormatError(code, at: offset, "\(subject) \(what)")
  }

  func syntaxError(_ detail: String) -> FormatError {
    FormatError(.notJSON, at: offset, detail)
  }

  /// Creates the error for a value of an unexpected type. At the end of the input, or if no value
  /// can start here, the error is that of invalid JSON.
  mutating func typeError(_ type: String) -> FormatError {
    guard let byte = peek(), "{[\"tfn-0123456789".utf8.contains(byte) else {
      return syntaxError("no JSON value")
    }
    return error(.wrongType, "must be \(type)")
  }
}
