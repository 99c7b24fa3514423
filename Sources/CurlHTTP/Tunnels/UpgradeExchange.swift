import CLibrary
import CacheSystem
import HTTPSemantics
import HTTPTransports
import Synchronization

/// A request that asks for another protocol, on a thread that may wait.
///
/// libcurl has no such requests but its own, so the head is written and read here, with the parsers
/// for libcurl's answers.
final class UpgradeExchange {
  /// The longest body of an answer that does not switch protocols, in bytes. It stays in memory until
  /// the client has read it.
  static let maximumBodyBytes = 64 << 10

  private let request: HTTPRequest
  private let server: any TunnelEnd
  private let deadline: ContinuousClock.Instant
  private let cancellation: Cancellation?
  private var received: ArraySlice<UInt8> = []
  private var hasEnded = false

  init(
    _ request: HTTPRequest, _ server: any TunnelEnd, _ deadline: ContinuousClock.Instant,
    _ cancellation: Cancellation? = nil
  ) {
    self.request = request
    self.server = server
    self.deadline = deadline
    self.cancellation = cancellation
  }

  /// Ends an exchange from another thread.
  final class Cancellation: Sendable {
    fileprivate let poll: Poll
    private let flag = Atomic(false)

    /// - Throws: EMFILE or ENFILE if no descriptors are left.
    init() throws(SystemError) { poll = try Poll() }

    var isCancelled: Bool { flag.load(ordering: .acquiring) }

    func cancel() {
      flag.store(true, ordering: .releasing)
      poll.wake()
    }
  }

  /// Sends the request and waits for the answer.
  func answer() throws(TransportError) -> UpgradeAnswer {
    try send(head())
    var parser = HeadParser()
    parser.acceptsSwitch = true
    while true {
      switch parser.consume(try line()) {
      case .none, .interim: continue
      case .head(let head, _) where head.status == 101:
        return .switched(head, server: server, first: Array(received))
      case .head(let head, _) where (200..<300).contains(head.status):
        server.close(isBroken: false)
        return .ignored
      case .head(let head, _):
        let body = try body(of: head)
        server.close(isBroken: false)
        return .answered(head, body: body)
      case .violation(let text): throw error(.protocolViolation, text)
      case .tooLarge(let text): throw error(.headTooLarge, text)
      }
    }
  }

  private func head() -> [UInt8] {
    let url = request.url
    let port = url.port == url.scheme.defaultPort ? "" : ":\(url.port)"
    var head = Array(
      "\(request.method.rawValue) \(url.target) HTTP/1.1\r\nHost: \(url.host)\(port)\r\n".utf8)
    for field in request.fields where field.isValid && !field.isNamed("Host") {
      head += Array(field.name.utf8) + [0x3A, 0x20] + field.value + [0x0D, 0x0A]
    }
    return head + Array("Connection: Upgrade\r\n\r\n".utf8)
  }

  /// Returns the next line, with its line end.
  private func line() throws(TransportError) -> [UInt8] {
    var searched = 0
    while true {
      if let end = received.dropFirst(searched).firstIndex(of: 0x0A) {
        defer { received = received[(end + 1)...] }
        return Array(received[...end])
      }
      searched = received.count
      guard received.count < HeadParser.maximumBytes else { throw error(.headTooLarge, "a line") }
      guard try receive() else { throw error(.connectionLost, "the server has answered nothing") }
    }
  }

  private func body(of head: HTTPResponseHead) throws(TransportError) -> [UInt8] {
    if request.method == .head || [204, 304].contains(head.status) { return [] }
    if head.fields.contains("Transfer-Encoding") { return try chunks() }
    let length = head.fields.contentLength
    while length.map({ UInt64(received.count) < $0 }) ?? true {
      try checkBody(received.count)
      guard try receive() else { break }
    }
    guard let length else {
      // RFC 9112, section 9.8.
      guard request.url.scheme == .http || (server as? CurlEnd)?.wasCut != true else {
        throw error(.truncatedBody, "the server has not closed TLS")
      }
      return Array(received)
    }
    guard UInt64(received.count) >= length else { throw error(.truncatedBody, "") }
    return Array(received.prefix(Int(length)))
  }

  private func chunks() throws(TransportError) -> [UInt8] {
    var chunked = ChunkedBody()
    var body: [UInt8] = []
    var trailers: [[UInt8]] = []
    var count = 0
    while true {
      // Chunk lines and trailers count, too.
      count += received.count
      try checkBody(count)
      var violation: ChunkedBody.Violation?
      // Safety: the bytes are read during the call.
      unsafe received.withUnsafeBytes { bytes in
        do throws(ChunkedBody.Violation) {
          try unsafe chunked.consume(bytes, into: &body, trailers: &trailers)
        } catch {
          violation = error
        }
      }
      if let violation { throw error(.protocolViolation, violation.text) }
      received = []
      if chunked.isOver { return body }
      trailers = []
      guard try receive() else { throw error(.truncatedBody, "") }
    }
  }

  private func checkBody(_ count: Int) throws(TransportError) {
    guard count <= Self.maximumBodyBytes else {
      throw error(.failed, "the answer that does not switch protocols is too long")
    }
  }

  /// Receives more bytes; returns `false` at their end.
  private func receive() throws(TransportError) -> Bool {
    guard !hasEnded else { return false }
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      // A server that sends byte after byte is never waited for.
      _ = try timeLeft()
      // Safety: at most the size of the buffer is written.
      switch unsafe buffer.withUnsafeMutableBytes({ unsafe server.read(into: $0) }) {
      case .bytes(let count):
        received += buffer[..<count]
        return true
      case .end:
        hasEnded = true
        return false
      case .failed: throw error(.connectionLost, "")
      case .wouldBlock: try wait(for: POLLIN)
      }
    }
  }

  private func send(_ bytes: [UInt8]) throws(TransportError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Safety: the bytes are read during the call.
      switch unsafe rest.withUnsafeBytes({ unsafe server.write($0) }) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .wouldBlock: try wait(for: POLLOUT)
      case .end, .failed: throw error(.connectionLost, "")
      }
    }
  }

  private func wait(for events: Int32) throws(TransportError) {
    let left = try timeLeft()
    if let cancellation {
      let watched = Poll.Watched(
        server.descriptor, reads: events == POLLIN, writes: events == POLLOUT)
      _ = cancellation.poll.wait(for: [watched], until: .now + left)
    } else {
      let seconds = Int32(min(left.components.seconds + 1, 60))
      Poll.isReady(server.descriptor, for: events, milliseconds: seconds * 1000)
    }
  }

  private func timeLeft() throws(TransportError) -> Duration {
    if cancellation?.isCancelled == true { throw error(.cancelled, "") }
    let left = deadline - .now
    guard left > .zero else { throw error(.timeout, "the server has not answered in time") }
    return left
  }

  private func error(_ code: TransportError.Code, _ detail: String) -> TransportError {
    TransportError(code, url: request.url.string, detail: detail)
  }
}
