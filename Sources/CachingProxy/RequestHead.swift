import HTTPSemantics
import HTTPTransports

/// The reason why a request is refused, and the status of the answer.
struct RequestRefusal: Error, Hashable {
  /// The status code, 400 to 599.
  var status: Int
  /// The problem and the advice, as one sentence without the full stop.
  var reason: String

  init(_ status: Int = 400, _ reason: String) {
    self.status = status
    self.reason = reason
  }
}

/// The head of a request, checked: no part of it is ambiguous.
///
/// Another server in front of this proxy, or behind it, may read a malformed head differently. That
/// makes it possible to smuggle requests inside others (RFC 9112, section 11.2). So every ambiguous
/// head is refused, and nothing is repaired.
struct RequestHead: Hashable {
  enum Framing: Hashable {
    /// There is neither `Content-Length` nor `Transfer-Encoding`.
    case none
    case length(UInt64)
    case chunked
  }

  let method: HTTPMethod
  /// The target as it was received, with bytes that are not ASCII percent-encoded.
  let target: String
  /// Whether the client understands HTTP/1.1: interim answers and chunks.
  let isHTTP11: Bool
  var fields: HTTPFields
  let framing: Framing
  /// Whether the client waits for `100 Continue` before it sends the body.
  let expectsContinue: Bool
  /// Whether the server library sends that `100`. It compares the first `Expect` alone, with the white
  /// space after its value.
  let isContinuedByLibrary: Bool

  /// Checks a head.
  ///
  /// - Parameters:
  ///   - fields: All lines, including the white space after the values.
  ///   - version: The version as it was received, such as `HTTP/1.1`.
  init(
    method: String, target: [UInt8], version: String, fields: [HTTPField]
  ) throws(RequestRefusal) {
    guard HTTPField.isToken(method) else {
      throw RequestRefusal(400, "the method is not a token")
    }
    self.method = HTTPMethod(rawValue: method)
    self.target = try Self.text(target)
    isHTTP11 = version != "HTTP/1.0"
    for field in fields {
      guard field.isValid else {
        throw RequestRefusal(
          400, "a field has a name or value with characters that are not allowed")
      }
    }
    framing = try Self.framing(fields, isHTTP11: isHTTP11)
    try Self.checkHost(fields, isHTTP11: isHTTP11)
    let trimmed = HTTPFields(fields.map { HTTPField(name: $0.name, value: $0.value.trimmed) })
    expectsContinue = isHTTP11 && framing != .none && RequestCheck.expectsContinue(trimmed)
    let expected = fields.first { $0.isNamed("Expect") }?.value
    isContinuedByLibrary =
      expected.map { String(decoding: $0, as: UTF8.self).lowercased() } == "100-continue"
    self.fields = trimmed
  }

  /// Returns the target as text. Each byte that is not ASCII becomes an escape, so that two
  /// different targets stay different.
  private static func text(_ target: [UInt8]) throws(RequestRefusal) -> String {
    guard target.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "#") }) else {
      throw RequestRefusal(400, "the target has characters that are not allowed")
    }
    if target.allSatisfy({ $0 < 0x80 }) { return String(decoding: target, as: UTF8.self) }
    return PercentEncoding.escaped(target) { $0 < 0x80 }
  }

  /// Determines the framing of the body (RFC 9112, section 6).
  private static func framing(
    _ fields: [HTTPField], isHTTP11: Bool
  ) throws(RequestRefusal) -> Framing {
    let codings = fields.filter { $0.isNamed("Transfer-Encoding") }
    let lengths = fields.filter { $0.isNamed("Content-Length") }
    guard let coding = codings.first else {
      guard let length = lengths.first else { return .none }
      guard lengths.count == 1, let number = FieldBytes.number(length.value[...]) else {
        throw RequestRefusal(400, "Content-Length is not one whole number")
      }
      return .length(number)
    }
    guard isHTTP11 else {
      throw RequestRefusal(400, "HTTP/1.0 has no Transfer-Encoding")
    }
    guard lengths.isEmpty else {
      throw RequestRefusal(400, "there is a Content-Length beside Transfer-Encoding")
    }
    // White space after the value makes a difference: the library below compares the whole value.
    let value = HTTPField(name: "", value: coding.value).text
    guard codings.count == 1, asciiEqual(value, "chunked") else {
      if codings.count == 1, value.hasSuffix("chunked"), value.contains(",") {
        throw RequestRefusal(501, "the only transfer coding that is understood is chunked")
      }
      throw RequestRefusal(400, "Transfer-Encoding is not chunked")
    }
    return .chunked
  }

  private static func asciiEqual(_ left: String, _ right: String) -> Bool {
    HTTPField(name: left, value: []).isNamed(right)
  }

  /// Checks `Host` by RFC 9112, section 3.2: one in HTTP/1.1, at most one before, and valid.
  private static func checkHost(_ fields: [HTTPField], isHTTP11: Bool) throws(RequestRefusal) {
    var host: [UInt8]?
    for field in fields where field.isNamed("Host") {
      guard host == nil else { throw RequestRefusal(400, "there are several Host fields") }
      host = field.value.trimmed
    }
    guard let host else {
      if isHTTP11 { throw RequestRefusal(400, "there is no Host field") }
      return
    }
    // An empty one is correct if the target has no authority.
    guard host.isEmpty || isAuthority(host) else {
      throw RequestRefusal(400, "the Host field is not a host with a port")
    }
  }

  /// Returns whether bytes are a host, optionally with a port, and no other part of a URL.
  ///
  /// It is called for every request, so it does not create a URL.
  static func isAuthority(_ bytes: [UInt8]) -> Bool {
    var port = bytes.endIndex
    if bytes.first == UInt8(ascii: "[") {
      guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")), bracket > 1,
        bytes[1..<bracket].allSatisfy(ASCII.isIPv6Byte)
      else { return false }
      port = bracket + 1
    } else {
      port = bytes.firstIndex { !ASCII.isHostByte($0) } ?? bytes.endIndex
      guard port > 0 else { return false }
    }
    guard port < bytes.endIndex else { return true }
    let digits = bytes[(port + 1)...]
    return bytes[port] == UInt8(ascii: ":") && digits.count <= 5
      && digits.allSatisfy { (0x30...0x39).contains($0) }
  }
}

extension [UInt8] {
  /// The bytes without spaces and tabs at the end.
  var trimmed: [UInt8] {
    guard let last, last == 0x20 || last == 0x09 else { return self }
    let end = lastIndex { $0 != 0x20 && $0 != 0x09 } ?? -1
    return Array(self[...end])
  }
}
