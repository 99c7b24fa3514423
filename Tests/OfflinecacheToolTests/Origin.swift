import CacheSystem
import Synchronization
import TestSupport
import Testing
import ToolTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// An HTTP server on loopback that answers by path, one connection a request.
final class Origin: Sendable {
  /// What a path is answered with.
  struct Answer: Sendable {
    var status = 200
    var body: [UInt8] = []
    /// The length the head claims; the connection ends after the body whatever it is.
    var claimedLength: Int?
    /// Whether the connection stays open after the body until the client ends it.
    var hangs = false
    /// More lines of the head, each with its line end.
    var fields = ""
  }

  private let listener: LoopbackListener
  /// The URL of the root, without the slash at its end.
  let base: String
  private let answers = Mutex<[String: Answer]>([:])
  private let count = Mutex(0)
  private let head = Mutex("")

  /// Starts the server.
  init() throws {
    listener = try LoopbackListener()
    base = "http://127.0.0.1:\(listener.port)"
    try startThread { [listener, self] in
      while let connection = listener.accept() {
        serve(connection)
        close(connection)
      }
    }
  }

  /// Sets what a path is answered with; other paths get 404.
  func set(_ path: String, _ answer: Answer) { answers.withLock { $0[path] = answer } }

  /// How many requests came.
  var requests: Int { count.withLock { $0 } }

  /// The head of the last request.
  var lastHead: String { head.withLock { $0 } }

  /// Refuses connections from now on.
  func stop() { listener.stop() }

  private func serve(_ connection: Int32) {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let byte = readByte(connection), head.count < 16_384 else { return }
      head.append(byte)
    }
    count.withLock { $0 += 1 }
    self.head.withLock { $0 = String(decoding: head, as: UTF8.self) }
    let path = String(decoding: head, as: UTF8.self).split(separator: " ").dropFirst().first ?? ""
    let missing = Answer(status: 404, body: Array("no".utf8))
    let answer = answers.withLock { $0[String(path)] } ?? missing
    let length = answer.claimedLength ?? answer.body.count
    let lines =
      "HTTP/1.1 \(answer.status) X\r\nContent-Length: \(length)\r\nConnection: close\r\n"
      + answer.fields + "\r\n"
    try? writeAll(Array(lines.utf8) + answer.body, to: connection)
    if answer.hangs { while readByte(connection) != nil {} }
  }
}
