import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite("The content that the library sends") struct QueuedResponseTests {
  /// Answers the first request as a test says, and others with "next".
  private func backend(_ answer: @escaping @Sendable () -> ProxyAnswer) -> ScriptedBackend {
    ScriptedBackend(stored: { $0.url.target == "/next" ? .text("next") : answer() })
  }

  /// Sends a request, and another one on the same connection; returns all that comes.
  private func readings(
    _ method: String, _ backend: ScriptedBackend
  ) async throws -> (first: RawClient.Reading, next: RawClient.Reading) {
    try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("\(method) / HTTP/1.1\r\nHost: x\r\n\r\n")
        let first = client.readAnswer(toHead: method == "HEAD")
        client.send("GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return (first, client.read())
      }
    }
  }

  @Test(arguments: [
    ("HEAD", 200, "Content-Length: 5"), ("GET", 304, "Content-Length: 5"), ("HEAD", 404, nil),
    ("GET", 304, nil), ("GET", 204, nil), ("HEAD", 204, nil),
  ])
  func `sends no body where none belongs`(method: String, status: Int, length: String?) async throws
  {
    let fields: HTTPFields = length == nil ? [] : [HTTPField("Content-Length", "5")]
    let backend = ScriptedBackend(stored: { request in
      request.url.target == "/next" ? .text("next") : .text("", status: status, fields: fields)
    })
    let (head, end) = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("\(method) / HTTP/1.1\r\nHost: x\r\n\r\n")
        let head = client.read(until: "\r\n\r\n")
        client.send("GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return (head, client.read())
      }
    }
    #expect(head.status == status)
    #expect(head.fields.first { $0.hasPrefix("Content-Length") } == length)
    #expect(head.field("Transfer-Encoding") == nil)
    // What comes next is the next answer, or nothing: never a body.
    #expect(end.bytes.isEmpty || end.text.hasPrefix("HTTP/1.1 200"))
    #expect(end.bytes.isEmpty == (head.field("Connection") == "close"))
  }

  @Test func `tells with 304 how long the whole is`() async throws {
    let backend = ScriptedBackend(stored: { _ in
      var answer = ProxyAnswer.text("", status: 304)
      answer.representationLength = 12
      return answer
    })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    }
    #expect(reading.field("Content-Length") == "12")
    #expect(reading.field("Connection") == nil)
  }

  @Test func `sends a part of a file`() async throws {
    let folder = TemporaryFolder()
    let file = try OpenFile(folder.path + "/file", Array("0123456789".utf8))
    let backend = ScriptedBackend(stored: { _ in
      ProxyAnswer(
        head: HTTPResponseHead(status: 206),
        body: .file(
          descriptor: file.descriptor, offset: 3, length: 4, owner: file),
        source: .disk, cacheStatus: nil)
    })
    let bodies = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        return (0..<3).map { _ in
          client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
          return client.readAnswer().body
        }
      }
    }
    #expect(bodies == ["3456", "3456", "3456"])
    #expect(file.isOpen)
  }

  /// A file of ten bytes, of which a stored answer has a part.
  private func answer(_ file: OpenFile, _ offset: UInt64, _ length: UInt64) -> ProxyAnswer {
    var answer = ProxyAnswer(
      head: HTTPResponseHead(status: 206),
      body: .file(descriptor: file.descriptor, offset: offset, length: length, owner: file),
      source: .disk, cacheStatus: nil)
    answer.representationLength = length
    return answer
  }

  @Test(arguments: [(0, 10), (9, 1), (10, 0), (0, 0)] as [(UInt64, UInt64)])
  func `a part of a file may be all, the last byte, or none`(offset: UInt64, length: UInt64)
    async throws
  {
    let folder = TemporaryFolder()
    let file = try OpenFile(folder.path + "/file", Array("0123456789".utf8))
    for method in ["GET", "HEAD"] {
      let (first, next) = try await readings(method, backend { answer(file, offset, length) })
      #expect(first.status == 206)
      let bytes = "0123456789".utf8.dropFirst(Int(offset)).prefix(method == "GET" ? Int(length) : 0)
      #expect(first.body == String(decoding: bytes, as: UTF8.self), "\(method)")
      #expect(next.body == "next", "\(method)")
    }
  }

  @Test func `a file that has become shorter never looks whole`() async throws {
    let folder = TemporaryFolder()
    let file = try OpenFile(folder.path + "/file", Array("0123456789".utf8))
    let recorder = Recorder()
    // The library waits for more of the file until the connection is idle for too long.
    let reading = try await withServer(
      backend { answer(file, 0, 1 << 20) }, observers: [recorder], idleSeconds: 1
    ) { port, _ in
      try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
    }
    #expect(reading.end != .open && reading.body.utf8.count <= 10)
    #expect(try await !recorder.records(count: 1)[0].isComplete)
  }

  @Test(arguments: [99, 0, -1, 1000, .max])
  func `a status that no answer may have ends the connection, and no answer is read from it`(
    status: Int
  ) async throws {
    let reading = try await withServer(backend { .text("body", status: status) }) { port, _ in
      try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
    }
    #expect(reading.bytes.isEmpty, "\(reading.text)")
    #expect(reading.end != .open)
  }

  @Test(arguments: [200, 205, 299, 418, 499, 599, 600, 999])
  func `any other status is passed on with its body`(status: Int) async throws {
    for isStreamed in [false, true] {
      let (first, next) = try await readings(
        "GET",
        backend {
          isStreamed
            ? .stream(Pieces(["bo", "dy"]), length: 4, status: status)
            : .text("body", status: status)
        })
      #expect(first.status == status && first.body == "body", "\(isStreamed)")
      #expect(next.body == "next")
    }
  }

  @Test func `the largest length is told to HEAD, and one beyond all bounds is not`() async throws {
    for (length, told) in [
      ("\(Int64.max)", "\(Int64.max)"), ("18446744073709551615", nil),
      ("18446744073709551614", nil),
      ("-1", nil), ("5, 5", nil),
    ] {
      let fields: HTTPFields = [HTTPField("Content-Length", length)]
      let (first, next) = try await readings("HEAD", backend { .text("", fields: fields) })
      #expect(first.field("Content-Length") == told, "\(length)")
      #expect(first.field("Transfer-Encoding") == nil)
      #expect(next.bytes.isEmpty || next.text.hasPrefix("HTTP/1.1 200"))
    }
  }
}
