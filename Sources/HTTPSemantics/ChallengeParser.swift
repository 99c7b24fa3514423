/// Reads the challenges of one line (RFC 9110, section 11.6.1).
struct ChallengeParser: ByteReading {
  let bytes: [UInt8]
  var position = 0
  private var quotesEnd = false

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func challenges() -> [Challenge] {
    var found: [Challenge] = []
    while true {
      skip { $0 == UInt8(ascii: ",") || ListSyntax.isWhiteSpace($0) }
      guard position < bytes.count else { return found }
      guard let scheme = token(), isSchemeEnd else {
        skipMember()
        continue
      }
      let challenge = rest(of: scheme)
      if found.count < Challenge.maximumCount { found.append(challenge) }
    }
  }

  /// Whether a scheme may end here: at a space, a comma or the end. At `=`, the token is the name
  /// of a parameter.
  private var isSchemeEnd: Bool {
    guard let next = peek else { return true }
    guard next == UInt8(ascii: ",") || ListSyntax.isWhiteSpace(next) else { return false }
    var look = self
    look.skip(while: ListSyntax.isWhiteSpace)
    return look.peek != UInt8(ascii: "=")
  }

  private mutating func rest(of scheme: String) -> Challenge {
    skip(while: ListSyntax.isWhiteSpace)
    if let token = token68() { return Challenge(scheme: scheme, token: token) }
    var parameters: [Challenge.Parameter] = []
    while true {
      let start = position
      skip { $0 == UInt8(ascii: ",") || ListSyntax.isWhiteSpace($0) }
      if beginsChallenge {
        position = start
        break
      }
      guard position < bytes.count else { break }
      if let name = parameterName(), let value = value(),
        parameters.count < Challenge.maximumCount
      {
        parameters.append(Challenge.Parameter(name, value))
      }
      skipMember()
    }
    return Challenge(scheme: scheme, parameters: parameters)
  }

  private var beginsChallenge: Bool {
    var look = self
    return look.token() != nil && look.isSchemeEnd
  }

  /// Consumes a name and the `=` after it; consumes nothing if there is no such name.
  private mutating func parameterName() -> String? {
    let start = position
    guard let name = token() else { return nil }
    skip(while: ListSyntax.isWhiteSpace)
    guard take("=") else {
      position = start
      return nil
    }
    return ASCII.lowercased(name.utf8)
  }

  private mutating func value() -> String? {
    skip(while: ListSyntax.isWhiteSpace)
    return peek == UInt8(ascii: "\"") ? quotedString() : token()
  }

  private mutating func quotedString() -> String? {
    guard let close = closingQuote() else { return nil }
    var text: [UInt8] = []
    position += 1
    while position < close {
      if bytes[position] == UInt8(ascii: "\\") { position += 1 }
      text.append(bytes[position])
      position += 1
    }
    position = close + 1
    return String(decoding: text, as: UTF8.self)
  }

  /// Consumes a `token68` that fills the rest of the member. `a=b` is a parameter, but `a=` is a
  /// token.
  private mutating func token68() -> String? {
    let start = position
    skip { ASCII.isLetter($0) || ASCII.isDigit($0) || "-._~+/".utf8.contains($0) }
    let hasDigits = position > start
    skip { $0 == UInt8(ascii: "=") }
    let end = position
    skip(while: ListSyntax.isWhiteSpace)
    guard hasDigits, position == bytes.count || peek == UInt8(ascii: ",") else {
      position = start
      return nil
    }
    return String(decoding: bytes[start..<end], as: UTF8.self)
  }

  /// Moves to the comma that ends the member; skips quoted strings.
  private mutating func skipMember() {
    while let byte = peek, byte != UInt8(ascii: ",") {
      if byte == UInt8(ascii: "\""), let close = closingQuote() { position = close }
      position += 1
    }
  }

  /// Returns the end of the quoted string that begins here. After a string without an end, no other
  /// end is searched for, which bounds the time.
  private mutating func closingQuote() -> Int? {
    guard !quotesEnd else { return nil }
    let close = bytes.withSpan { ListSyntax.closingQuote(in: $0, after: position) }
    quotesEnd = close == nil
    return close
  }

  private mutating func token() -> String? {
    let text = text(while: ASCII.isTokenByte)
    return text.isEmpty ? nil : text
  }
}
