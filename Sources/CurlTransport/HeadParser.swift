import HTTPSemantics
import HTTPTransport

/// Reads the header lines that libcurl hands over, one whole line at a time, across interim
/// answers, redirects and trailers, and says which head counts.
struct HeadParser {
  /// The most bytes one head, or the trailers, may have: 256 KiB. libcurl bounds one line only.
  static let maximumHeadBytes = 256 * 1024

  /// The most lines one head, or the trailers, may have.
  static let maximumLines = 2_000

  /// Says what a line has led to.
  enum Event: Equatable {
    /// More lines are needed.
    case none
    /// The head of a redirect is complete, which is followed now.
    case redirect
    /// The head of the answer that counts is complete; a body may follow.
    case head(HTTPResponseHead, version: String)
    /// The server does not speak HTTP properly.
    case violation(String)
  }

  private enum Phase {
    /// Before a status line, or within an answer that does not count.
    case skipping
    case head
    case trailers
  }

  private let followsRedirects: Bool
  private var phase = Phase.skipping
  private var status = 0
  private var version = ""
  private var lines = FieldLines()

  init(followsRedirects: Bool) {
    self.followsRedirects = followsRedirects
  }

  /// Gives the trailer fields that have come so far.
  var trailers: HTTPFields {
    phase == .trailers ? lines.fields : []
  }

  /// Takes one line with its line end.
  mutating func consume(_ line: [UInt8]) -> Event {
    let content = Self.withoutLineEnd(line)
    if phase != .trailers, Self.isStatusLine(content) { return startHead(content) }
    guard phase != .skipping else { return .none }
    if content.isEmpty { return phase == .head ? endHead() : .none }
    lines.append(content)
    guard lines.bytes <= Self.maximumHeadBytes, lines.count <= Self.maximumLines else {
      return .violation(
        "more than \(Self.maximumHeadBytes) bytes or \(Self.maximumLines) lines of fields")
    }
    return .none
  }

  private mutating func startHead(_ line: [UInt8]) -> Event {
    guard let parsed = Self.statusLine(line) else { return .violation("a bad status line") }
    (version, status) = parsed
    lines = FieldLines()
    phase = .head
    return .none
  }

  private mutating func endHead() -> Event {
    if (100...199).contains(status) && status != 101 {
      phase = .skipping
      return .none
    }
    // The same test as libcurl's own, so that a redirect that it follows is never taken for the
    // answer, and one that it does not follow is.
    if followsRedirects, (300...399).contains(status),
      let location = lines.fields.first(named: "Location"), !location.value.isEmpty
    {
      phase = .skipping
      return .redirect
    }
    let head = HTTPResponseHead(status: status, fields: lines.fields)
    guard Self.hasOneLength(head.fields) else { return .violation("two different lengths") }
    phase = .trailers
    lines = FieldLines()
    return .head(head, version: version)
  }

  /// Tells whether at most one length is stated (RFC 9112, section 6.3): with two, the end of the
  /// body is a matter of opinion, and what one takes for a body another takes for an answer.
  private static func hasOneLength(_ fields: HTTPFields) -> Bool {
    let lengths = fields.all(named: "Content-Length").flatMap { field in
      field.value.split(separator: UInt8(ascii: ",")).map { FieldLines.trimmed(Array($0)) }
    }
    return Set(lengths).count <= 1
  }

  private static func isStatusLine(_ line: [UInt8]) -> Bool {
    line.starts(with: "HTTP/".utf8)
  }

  /// Reads `HTTP/1.1 200 OK`; the reason may be missing, as it is with HTTP/2.
  private static func statusLine(_ line: [UInt8]) -> (version: String, status: Int)? {
    let words = line.dropFirst(5).split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, words[1].count == 3,
      let status = Int(String(decoding: words[1], as: UTF8.self)), status >= 100
    else { return nil }
    return (String(decoding: words[0], as: UTF8.self), status)
  }

  private static func withoutLineEnd(_ line: [UInt8]) -> [UInt8] {
    var end = line.count
    if end > 0, line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    if end > 0, line[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    return Array(line[..<end])
  }
}
