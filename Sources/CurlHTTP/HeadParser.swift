import HTTPSemantics

/// Reads the header lines that libcurl hands over, one whole line at a time, across interim answers
/// and trailers. Stricter than libcurl 7.88, which overlooks much (RFC 9112, sections 2 to 7).
struct HeadParser {
  /// The most bytes that all heads and the trailers of one answer may have together: 256 KiB.
  static let maximumBytes = 256 * 1024

  /// The most fields that they may have together, each interim answer counted as one.
  static let maximumFields = 1_000

  /// Says what a line has led to.
  enum Event: Equatable {
    /// More lines are needed.
    case none
    /// The head of an interim answer is complete.
    case interim(HTTPResponseHead)
    /// The head of the final answer is complete; a body may follow.
    case head(HTTPResponseHead, version: String)
    /// The server does not speak HTTP properly.
    case violation(String)
    /// A limit is passed.
    case tooLarge(String)
  }

  private enum Phase {
    case statusLine
    case fields
    case trailers
  }

  private var phase = Phase.statusLine
  private var status = 0
  private var version = ""
  private var lines = FieldLines()
  private var bytes = 0
  private var fieldsBefore = 0

  /// Gives the trailer fields that have come so far, without those that must not come so late.
  var trailers: HTTPFields {
    phase == .trailers ? MessageFraming.allowedTrailers(lines.fields) : []
  }

  /// Takes one line with its line end.
  mutating func consume(_ line: consuming [UInt8]) -> Event {
    bytes += line.count
    guard bytes <= Self.maximumBytes else {
      return .tooLarge("more than \(Self.maximumBytes) bytes")
    }
    let content = Self.withoutLineEnd(line)
    // RFC 9112, section 2.2: a lone CR is invalid, and some take it for the end of a line.
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
    // Without this, interim answers without fields would be bounded by their bytes alone.
    fieldsBefore += 1
    phase = .statusLine
    return .interim(head)
  }

  /// Reads `HTTP/1.1 200 OK`; the reason may be missing, as it is with HTTP/2.
  private static func statusLine(_ line: [UInt8]) -> (version: String, status: Int)? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let words = line.dropFirst(5).split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, words[1].count == 3, let status = FieldBytes.number(words[1]),
      status >= 100, words[0].allSatisfy({ $0 == UInt8(ascii: ".") || isDigit($0) })
    else { return nil }
    return (String(decoding: words[0], as: UTF8.self), Int(status))
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  private static func withoutLineEnd(_ line: consuming [UInt8]) -> [UInt8] {
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }
}
