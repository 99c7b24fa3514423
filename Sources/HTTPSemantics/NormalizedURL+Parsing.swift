// The normalised parts of a URL (RFC 3986, sections 3, 6.2.2 and 6.2.3).
extension NormalizedURL {
  static func parts(
    of text: String
  ) throws(InvalidURL) -> (scheme: Scheme, host: String, port: Int, target: String) {
    let bytes = Array(text.utf8)
    let (scheme, afterScheme) = try Self.scheme(of: bytes, in: text)
    guard bytes[afterScheme...].starts(with: "//".utf8) else {
      throw InvalidURL(.noHost, in: text)
    }
    let rest = bytes[(afterScheme + 2)...]
    let authority = rest.prefix {
      $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    let (host, port) = try hostAndPort(authority, scheme: scheme, in: text)
    return (scheme, host, port, target(rest[authority.endIndex...]))
  }

  private static func scheme(
    of bytes: [UInt8], in text: String
  ) throws(InvalidURL) -> (Scheme, Int) {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
      ASCII.isLetter(bytes[0]), bytes[..<colon].allSatisfy(ASCII.isSchemeByte)
    else { throw InvalidURL(.noScheme, in: text) }
    let name = ASCII.lowercased(bytes[..<colon])
    guard let scheme = Scheme(rawValue: name) else {
      throw InvalidURL(.unsupportedScheme, in: text)
    }
    return (scheme, colon + 1)
  }

  private static func hostAndPort(
    _ authority: ArraySlice<UInt8>, scheme: Scheme, in text: String
  ) throws(InvalidURL) -> (String, Int) {
    // Programs interpret a backslash before an "@" differently. An attacker could use that to show
    // one host and contact another.
    guard !authority.contains(UInt8(ascii: "\\")) else { throw InvalidURL(.invalidHost, in: text) }
    var hostport = authority
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      hostport = authority[(at + 1)...]
    }
    var hostEnd = hostport.endIndex
    if hostport.first == UInt8(ascii: "[") {
      guard let bracket = hostport.firstIndex(of: UInt8(ascii: "]")) else {
        throw InvalidURL(.invalidAddress, in: text)
      }
      hostEnd = bracket + 1
    } else if let colon = hostport.firstIndex(of: UInt8(ascii: ":")) {
      hostEnd = colon
    }
    let host = try Self.host(hostport[..<hostEnd], in: text)
    return (host, try Self.port(hostport[hostEnd...], scheme: scheme, in: text))
  }

  private static func host(
    _ raw: ArraySlice<UInt8>, in text: String
  ) throws(InvalidURL) -> String {
    guard !raw.isEmpty else { throw InvalidURL(.noHost, in: text) }
    if raw.first == UInt8(ascii: "[") {
      let address = raw.dropFirst().dropLast()
      guard address.count(where: { $0 == UInt8(ascii: ":") }) >= 2,
        address.allSatisfy(ASCII.isIPv6Byte)
      else { throw InvalidURL(.invalidAddress, in: text) }
      return ASCII.lowercased(raw)
    }
    if raw.allSatisfy({ ASCII.isHostByte($0) && ASCII.lowercased($0) == $0 }) {
      return String(decoding: raw, as: UTF8.self)
    }
    let decoded = PercentEncoding.normalized(raw) { ASCII.isHostByte($0) }
    guard decoded.allSatisfy(ASCII.isHostByte) else { throw InvalidURL(.invalidHost, in: text) }
    return ASCII.lowercased(decoded)
  }

  /// Reads the port after the host: nothing, a colon alone (RFC 3986, section 6.2.3), or a number.
  private static func port(
    _ raw: ArraySlice<UInt8>, scheme: Scheme, in text: String
  ) throws(InvalidURL) -> Int {
    guard let first = raw.first else { return scheme.defaultPort }
    guard first == UInt8(ascii: ":") else { throw InvalidURL(.invalidAddress, in: text) }
    let digits = raw.dropFirst()
    if digits.isEmpty { return scheme.defaultPort }
    var port = 0
    for digit in digits {
      guard ASCII.isDigit(digit) else { throw InvalidURL(.invalidPort, in: text) }
      port = port * 10 + Int(digit - UInt8(ascii: "0"))
      guard port <= 65_535 else { throw InvalidURL(.invalidPort, in: text) }
    }
    guard port > 0 else { throw InvalidURL(.invalidPort, in: text) }
    return port
  }

  /// Normalises path and query and removes the fragment.
  private static func target(_ raw: ArraySlice<UInt8>) -> String {
    if isNormal(raw) { return String(decoding: raw, as: UTF8.self) }
    let withoutFragment = raw.prefix { $0 != UInt8(ascii: "#") }
    let rawPath = withoutFragment.prefix { $0 != UInt8(ascii: "?") }
    // Escapes are decoded first, because "%2E%2E" is a dot segment after that.
    let path = DotSegments.removed(from: PercentEncoding.normalizedTarget(rawPath))
    let query = PercentEncoding.normalizedTarget(withoutFragment[rawPath.endIndex...])
    return String(decoding: path + query, as: UTF8.self)
  }

  /// Returns whether a target needs no normalisation, which is the usual case: it has no escape, no
  /// dot segment and no fragment.
  static func isNormal(_ target: some Sequence<UInt8>) -> Bool {
    var previous: UInt8 = 0
    for byte in target {
      if previous == 0, byte != UInt8(ascii: "/") { return false }
      if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") { return false }
      guard ASCII.isTargetByte(byte) else { return false }
      previous = byte
    }
    return previous != 0
  }
}
