import HTTPSemantics

/// Decodes the chunks of a body (RFC 9112, section 7.1).
///
/// libcurl also does this, to find the end, but version 7.88 ignores the text after the digits of a
/// size, so that it treats `0x5` as the end of a body. Here lines must end with CR LF, and a size
/// must be hex digits, optionally with white space and extensions.
struct ChunkedBody {
  struct Violation: Error, Equatable {
    let text: String
  }

  /// The limit on the length of a size line, in bytes, with its extensions.
  static let maximumLineBytes = 4_096

  private enum Phase {
    case size
    case data(left: Int64)
    case dataEnd
    case trailers
    case over
  }

  private var phase = Phase.size
  private var line: [UInt8] = []

  /// Whether the body is complete, including its trailers.
  var isOver: Bool {
    if case .over = phase { true } else { false }
  }

  /// Whether bytes have come after the end.
  private(set) var hasMore = false

  /// Decodes received bytes; appends the body to `body` and whole lines to `trailers`.
  ///
  /// Bytes after the end are ignored, and noted in ``hasMore``.
  mutating func consume(
    _ bytes: UnsafeRawBufferPointer, into body: inout [UInt8], trailers: inout [[UInt8]]
  ) throws(Violation) {
    var rest = unsafe bytes[...]
    while unsafe !rest.isEmpty, !isOver {
      if case .data(let left) = phase {
        let count = unsafe Int(min(Int64(rest.count), left))
        // Safety: the caller's buffer is valid during this call; the bytes are copied.
        unsafe body.append(contentsOf: rest.prefix(count))
        unsafe rest = rest.dropFirst(count)
        phase = left == Int64(count) ? .dataEnd : .data(left: left - Int64(count))
      } else {
        let end = unsafe rest.firstIndex(of: UInt8(ascii: "\n"))
        let part = unsafe end.map { unsafe rest[...$0] } ?? rest
        unsafe line.append(contentsOf: part)
        unsafe rest = rest.dropFirst(part.count)
        try checkLength()
        if end != nil { try endLine(&trailers) }
      }
    }
    if unsafe !rest.isEmpty { hasMore = true }
  }

  private func checkLength() throws(Violation) {
    switch phase {
    case .dataEnd where line.count > 2: throw Violation(text: "a chunk beyond its size")
    case .size where line.count > Self.maximumLineBytes:
      throw Violation(text: "a chunk's line of more than \(Self.maximumLineBytes) bytes")
    // The parser of heads refuses such a line; this only limits the bytes that are collected for
    // it.
    case .trailers where line.count > HeadParser.maximumBytes:
      throw Violation(text: "a trailer of more than \(HeadParser.maximumBytes) bytes")
    default: break
    }
  }

  private mutating func endLine(_ trailers: inout [[UInt8]]) throws(Violation) {
    guard line.suffix(2) == [0x0D, 0x0A] else { throw Violation(text: "a line without a CR") }
    defer { line = [] }
    let content = line.dropLast(2)
    switch phase {
    case .size:
      guard let size = Self.size(content) else { throw Violation(text: "a chunk without a size") }
      phase = size == 0 ? .trailers : .data(left: size)
    case .dataEnd:
      guard content.isEmpty else { throw Violation(text: "a chunk beyond its size") }
      phase = .size
    case .trailers where content.isEmpty: phase = .over
    case .trailers: trailers.append(line)
    case .data, .over: break
    }
  }

  /// Returns the number at the start of a size line, or `nil` if there is none or it exceeds 2^63 -
  /// 1.
  private static func size(_ line: ArraySlice<UInt8>) -> Int64? {
    let digits = line.prefix { ASCII.hexValue($0) != nil }
    let rest = line.dropFirst(digits.count).drop { $0 == 0x20 || $0 == 0x09 }
    guard !digits.isEmpty, digits.count <= 16, rest.isEmpty || rest.first == UInt8(ascii: ";"),
      !rest.contains(where: { $0 == 0x0D || $0 == 0 })
    else { return nil }
    let number = digits.reduce(UInt64(0)) { $0 << 4 | UInt64(ASCII.hexValue($1) ?? 0) }
    return Int64(exactly: number)
  }
}
