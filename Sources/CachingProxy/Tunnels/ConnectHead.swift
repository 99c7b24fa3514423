import HTTPSemantics

/// The head of a `CONNECT` request (RFC 9110, section 9.3.6), checked as strictly as all others.
struct ConnectHead: Hashable {
  /// The longest head, in bytes.
  static let maximumBytes = 16 * 1024

  static let start = Array("CONNECT ".utf8)

  /// The name or address in lower case; an IPv6 address with its brackets.
  let host: String
  let port: UInt16
  let fields: HTTPFields

  var authority: String { "\(host):\(port)" }

  /// Returns the length of the head with its empty line, or `nil` if more bytes are needed.
  ///
  /// - Parameter seen: The number of bytes that were searched before.
  static func length(in bytes: [UInt8], after seen: Int = 0) -> Int? {
    var index = max(3, seen)
    while index < bytes.count {
      if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A,
        bytes[index - 3] == 0x0D
      {
        return index + 1
      }
      index += 1
    }
    return nil
  }

  /// Checks a head, with its empty line.
  init(_ bytes: [UInt8]) throws(RequestRefusal) {
    var lines: [ArraySlice<UInt8>] = bytes.dropLast(4).split(
      separator: 0x0A, omittingEmptySubsequences: false)
    for index in lines.indices.dropLast() {
      guard lines[index].last == 0x0D else { throw Self.malformed }
      lines[index].removeLast()
    }
    guard lines.allSatisfy({ line in !line.contains { $0 == 0x0D || $0 == 0 } }),
      let first = lines.first
    else { throw Self.malformed }
    let words = first.split(separator: 0x20, omittingEmptySubsequences: false)
    guard words.count == 3,
      words[2].elementsEqual("HTTP/1.1".utf8) || words[2].elementsEqual("HTTP/1.0".utf8)
    else {
      throw RequestRefusal(400, "the request line is not that of a CONNECT with HTTP/1.1")
    }
    var fields: [HTTPField] = []
    for line in lines.dropFirst() { fields.append(try Self.field(line)) }
    let head = try RequestHead(
      method: "CONNECT", target: Array(words[1]),
      version: String(decoding: words[2], as: UTF8.self), fields: fields)
    guard head.framing == .none else {
      throw RequestRefusal(400, "a CONNECT has no body")
    }
    (host, port) = try Self.authority(words[1])
    self.fields = head.fields
  }

  private static let malformed = RequestRefusal(
    400, "the head has folded lines, bare line feeds, NULs or extra spaces")

  private static func field(_ line: ArraySlice<UInt8>) throws(RequestRefusal) -> HTTPField {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw malformed }
    let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
    return HTTPField(name: String(decoding: line[..<colon], as: UTF8.self), value: Array(value))
  }

  /// Parses a host and a port, which must both be there.
  private static func authority(
    _ bytes: ArraySlice<UInt8>
  ) throws(RequestRefusal) -> (String, UInt16) {
    let bytes = Array(bytes)
    guard RequestHead.isAuthority(bytes), let colon = bytes.lastIndex(of: UInt8(ascii: ":")),
      bytes.last != UInt8(ascii: "]"),
      let port = UInt16(String(decoding: bytes[(colon + 1)...], as: UTF8.self)), port > 0,
      let url = try? NormalizedURL("http://\(String(decoding: bytes[..<colon], as: UTF8.self))/"),
      url.host.utf8.count <= maximumHostBytes
    else {
      throw RequestRefusal(400, "the target of a CONNECT is a host and a port, such as a.test:443")
    }
    return (url.host, port)
  }

  /// The longest name of a host in DNS (RFC 1035, section 2.3.4).
  private static let maximumHostBytes = 255
}
