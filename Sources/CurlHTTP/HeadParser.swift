import HTTPSemantics

/// Parses the header lines that libcurl passes on, one whole line at a time, including interim
/// responses and trailers. It is stricter than libcurl 7.88, which accepts many errors (RFC 9112,
/// sections 2 to 7).
struct HeadParser {
  /// The limit on all heads and the trailers of one response together: 256 KiB.
  static let maximumBytes = 256 * 1024

  /// The limit on the number of their fields; each interim response counts as one field.
  static let maximumFields = 1_000

  /// The result of a line.
  enum Event: Equatable {
    /// More lines are needed.
    case none
    case interim(HTTPResponseHead)
    /// The head of the final response is complete; a body may follow.
    case head(HTTPResponseHead, version: String)
    /// The server violates the syntax of HTTP.
    case violation(String)
    case tooLarge(String)
  }

  private enum Phase {
    case statusLine
    case fields
    case trailers
  }

  /// Whether a 101 is a final response.
  var acceptsSwitch = false
  private var phase = Phase.statusLine
  private var status = 0
  private var version = ""
  private var lines = FieldLines()
  private var bytes = 0
  private var fieldsBefore = 0

  /// The trailer fields received so far, without those that are not allowed in trailers.
  var trailers: HTTPFields {
    phase == .trailers ? MessageFraming.allowedTrailers(lines.fields) : []
  }

  /// Parses one line, including its line end.
  mutating func consume(_ line: consuming [UInt8]) -> Event {
    bytes += line.count
    guard bytes <= Self.maximumBytes else {
      return .tooLarge("more than \(Self.maximumBytes) bytes")
    }
    let content = Self.withoutLineEnd(line)
    // RFC 9112, section 2.2: a lone CR is invalid, and some recipients treat it as the end of a
    // line.
    guard !content.contains(where: { $0 == 0x0D || $0 == 0 }) else {
      return .violation("a CR or NUL within a line")
    }
    switch phase {
    case .statusLine: return startHead(content)
    case .fields: return content.isEmpty ? endHead() : append(content)
    case .trailers: return content.isEmpty ? .none : append(content)
    }
  }

  private mutating func append(_ content: [UInt8]) -> Event {
    lines.append(content)
    guard fieldsBefore + lines.count <= Self.maximumFields else {
      return .tooLarge("more than \(Self.maximumFields) fields")
    }
    return .none
  }

  private mutating func startHead(_ line: [UInt8]) -> Event {
    guard let parsed = Self.statusLine(line) else { return .violation("a bad status line") }
    (version, status) = parsed
    phase = .fields
    return .none
  }

  private mutating func endHead() -> Event {
    if status == 101, acceptsSwitch {
      phase = .trailers
      return .head(HTTPResponseHead(status: 101, fields: lines.fields), version: version)
    }
    let framing = MessageFraming(version: version, status: status)
    let fields: HTTPFields
    do throws(MessageFraming.Violation) {
      fields = try framing.checked(lines)
    } catch {
      return .violation(error.text)
    }
    fieldsBefore += lines.count
    lines = FieldLines()
    let head = HTTPResponseHead(status: status, fields: fields)
    guard framing.isInterim else {
      phase = .trailers
      return .head(head, version: version)
    }
    // Without this, interim responses without fields would be limited only by their bytes.
    fieldsBefore += 1
    phase = .statusLine
    return .interim(head)
  }

  /// Parses `HTTP/1.1 200 OK`. The reason may be missing, as it is with HTTP/2.
  private static func statusLine(_ line: [UInt8]) -> (version: String, status: Int)? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let words = line.dropFirst(5).split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, words[1].count == 3, let status = FieldBytes.number(words[1]),
      status >= 100, words[0].allSatisfy({ $0 == UInt8(ascii: ".") || ASCII.isDigit($0) })
    else { return nil }
    return (String(decoding: words[0], as: UTF8.self), Int(status))
  }

  private static func withoutLineEnd(_ line: consuming [UInt8]) -> [UInt8] {
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }
}
