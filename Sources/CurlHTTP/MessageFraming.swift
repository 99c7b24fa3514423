import HTTPSemantics

/// Checks that a head determines the end of its body in one way only (RFC 9112, section 6).
///
/// With two ways, one recipient may read as body what another reads as the next response. Every
/// head that libcurl would frame differently is a violation.
struct MessageFraming {
  struct Violation: Error, Equatable {
    let text: String
  }

  let version: String
  let status: Int

  /// Whether more heads follow (RFC 9110, section 15.2).
  var isInterim: Bool { (100...199).contains(status) }

  /// Returns the fields of a head. A length that was stated several times is included once.
  func checked(_ lines: FieldLines) throws(Violation) -> HTTPFields {
    guard status != 101 else { throw Violation(text: "a switch of protocols") }
    for name in ["content-length", "transfer-encoding"] where lines.oddNames.contains(name) {
      throw Violation(text: "an oddly written \(name)")
    }
    let fields = lines.fields
    let hasCoding = fields.contains("Transfer-Encoding")
    let hasLength = fields.contains("Content-Length")
    guard hasCoding || hasLength else { return fields }
    // RFC 9110, section 8.6, and RFC 9112, section 6.1. libcurl would use either of them for the
    // final response.
    guard !isInterim else { throw Violation(text: "an interim answer with a length") }
    // RFC 9112, section 6.3: ought to be handled as an error.
    guard !(hasCoding && hasLength) else { throw Violation(text: "a length and a transfer coding") }
    return try hasLength ? withOneLength(fields) : withKnownCoding(fields)
  }

  /// Checks the transfer coding. `chunked` is the only one that a server may use unasked, and
  /// HTTP/1.0 has none (RFC 9112, section 6.1).
  ///
  /// A single word that is not the name of a coding is meaningless; some servers send such words.
  /// The body then ends with the connection (RFC 9112, section 6.3, item 4), and the field is
  /// removed, because nobody could decode it.
  private func withKnownCoding(_ fields: HTTPFields) throws(Violation) -> HTTPFields {
    guard version != "1.0" else { throw Violation(text: "a transfer coding in HTTP/1.0") }
    let all = fields.all(named: "Transfer-Encoding")
    let word = all[0].text.lowercased()
    guard all.count == 1 else { throw Violation(text: "several transfer codings") }
    if word == "chunked" { return fields }
    guard HTTPField.isToken(word), !Self.codings.contains(where: { word.contains($0) }) else {
      throw Violation(text: "a transfer coding other than chunked")
    }
    var rest = fields
    rest.removeAll(named: "Transfer-Encoding")
    return rest
  }

  /// Names with a meaning (IANA, HTTP Transfer Coding Registry).
  private static let codings = ["chunked", "compress", "deflate", "gzip", "identity", "trailers"]

  /// Checks the length. A list of the same number counts as that number (RFC 9110, section 8.6).
  private func withOneLength(_ fields: HTTPFields) throws(Violation) -> HTTPFields {
    var first: UInt64?
    var count = 0
    for field in fields where field.isNamed("Content-Length") {
      let items = field.value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      for item in items {
        guard let number = FieldBytes.number(FieldBytes.trimmed(item)) else {
          throw Violation(text: "a length that is no number")
        }
        guard first == nil || first == number else { throw Violation(text: "two lengths") }
        first = number
        count += 1
      }
    }
    guard count > 1, let first else { return fields }
    var isKept = false
    return HTTPFields(
      fields.compactMap { field in
        guard field.isNamed("Content-Length") else { return field }
        defer { isKept = true }
        return isKept ? nil : HTTPField(field.name, "\(first)")
      })
  }

  /// Returns the trailers without fields for framing, routing, authentication, control data or the
  /// content format, which are not allowed there (RFC 9110, section 6.5.1).
  static func allowedTrailers(_ fields: HTTPFields) -> HTTPFields {
    HTTPFields(fields.filter { !forbiddenTrailers.contains($0.name.lowercased()) })
  }

  private static let forbiddenTrailers: Set<String> = [
    "age", "authorization", "cache-control", "connection", "content-encoding", "content-length",
    "content-range", "content-type", "cookie", "date", "expect", "expires", "host", "keep-alive",
    "location", "max-forwards", "pragma", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "range", "retry-after", "set-cookie", "te", "trailer",
    "transfer-encoding", "upgrade", "vary", "warning", "www-authenticate",
  ]
}
