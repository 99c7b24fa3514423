import CacheSystem
import HTTPSemantics
import HTTPTransports
import Testing

@testable import CachingProxy

@Suite("An answer that begins before the request has ended", .timeLimit(.minutes(5)))
struct ExchangeEarlyTests {
  /// Answers with the body as it comes.
  private let echoing = ScriptedBackend(answering: { _, body, _ in
    guard case .stream(let length, let source) = body else { return .text("none", status: 400) }
    return .stream(Pieces { _ in try await source.next() }, length: length)
  })

  @Test(arguments: [true, false])
  func `comes while the client sends`(isChunked: Bool) async throws {
    let recorder = Recorder()
    let (first, rest) = try await withServer(echoing, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 6"
        client.send("POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n")
        client.send(isChunked ? "3\r\nabc\r\n" : "abc")
        // Nothing more is sent before the first piece has come back.
        let first = client.read(until: "abc")
        client.send(isChunked ? "3\r\ndef\r\n0\r\n\r\n" : "def")
        return (first, client.read())
      }
    }
    #expect(first.status == 200)
    #expect(first.field("Connection") == "close")
    #expect(first.field("Content-Length") == (isChunked ? nil : "6"))
    #expect(first.field("Transfer-Encoding") == (isChunked ? "chunked" : nil))
    #expect(rest.text == (isChunked ? "\r\n3\r\ndef\r\n0\r\n\r\n" : "def"))
    #expect(rest.end == .closed)
    let record = try await recorder.records(count: 1)[0]
    #expect(record.isComplete)
    #expect(record.status == 200)
    #expect(record.bytesSent == 6)
  }

  @Test func `waits for the client that waits for leave to send its body`() async throws {
    let reading = try await withServer(echoing) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send(
          "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        #expect(client.read(until: "\r\n\r\n").text == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        return client.readAnswer()
      }
    }
    #expect(reading.status == 200)
    #expect(reading.body == "abc")
  }

  @Test func `does not end the request: the origin gets all of it`() async throws {
    let (counts, counting) = AsyncStream.makeStream(of: Int.self)
    let backend = ScriptedBackend(answering: { _, body, _ in
      .stream(
        Pieces { index in
          if index == 0 { return Array("early".utf8) }
          counting.yield(await body.bytes()?.count ?? -1)
          return nil
        }, length: 5)
    })
    try await withServer(backend) { port, _ in
      let body = try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
        let answer = client.readAnswer()
        client.send([UInt8](repeating: 1, count: 300_000))
        return answer.body + client.read().text
      }
      #expect(body == "early")
      #expect(await counts.first { _ in true } == 300_000)
    }
  }

  @Test func `that breaks off does not look complete`() async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(Pieces(["abc"], isBroken: true))
    })
    let reading = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        return client.read()
      }
    }
    #expect(!reading.text.hasSuffix("0\r\n\r\n"))
    #expect(reading.end != .open)
  }

  @Test func `lets a client go that leaves while its upload waits`() async throws {
    let (gone, leaving) = AsyncStream.makeStream(of: Void.self)
    // Takes nothing of the body, and sends more once the client has left.
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(
        Pieces { index in
          if index == 1 { for await _ in gone { break } }
          return Array("early".utf8)
        })
    })
    let recorder = Recorder()
    try await withServer(backend, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\na")
        #expect(client.read(until: "early").status == 200)
        _ = client.sendUntilBlocked([UInt8](repeating: 1, count: 50_000_000))
      }
      leaving.yield()
      #expect(try await !recorder.records(count: 1)[0].isComplete)
    }
  }

  @Test(arguments: ["Content-Length: 1000000", "Transfer-Encoding: chunked"], [true, false])
  func `of the proxy reaches a client that reads after its upload, or pauses`(
    framing: String, pauses: Bool
  ) async throws {
    let body = String(repeating: "x", count: 1_000_000)
    let isChunked = framing.hasSuffix("chunked")
    let (isSent, reading) = try await withServer(ScriptedBackend()) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: other\r\n\(framing)\r\n\r\n")
        if pauses { return (true, client.read(until: ".\n")) }
        let isSent = client.send(isChunked ? "f4240\r\n\(body)\r\n0\r\n\r\n" : body)
        client.finishSending()
        return (isSent, client.read())
      }
    }
    #expect(isSent && reading.status == 421 && reading.end == (pauses ? .open : .closed))
  }

  @Test func `of the proxy ends when the server stops`() async throws {
    let (early, reading) = try await withServer(ScriptedBackend()) { port, server in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: other\r\nContent-Length: 1000000\r\n\r\n")
        let early = client.read(until: ".\n")
        // As a server does that stops: behind an answer that its client does not read, the connection
        // would stay suspended.
        guard case .running(let running) = server.phase.withLock({ $0 }) else {
          throw RawClient.NoConnection()
        }
        running.core.exchanges.abortAll()
        client.send("x")
        return (early, client.read())
      }
    }
    #expect(early.status == 421 && reading.end != .open)
  }

  @Test(arguments: [("HEAD", 413, "9"), ("POST", 304, "9"), ("POST", 204, nil)])
  func `that has no body reaches a client that pauses`(
    method: String, status: Int, length: String?
  ) async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in
      var answer = ProxyAnswer.text("too large", status: status)
      answer.representationLength = 9
      return answer
    })
    let reading = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("\(method) / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\nabc")
        return client.read(until: "\r\n\r\n")
      }
    }
    #expect(reading.status == status && reading.field("Content-Length") == length)
  }

  @Test(arguments: [(true, "too large"), (false, "too large"), (true, ""), (false, "")])
  func `that refuses reaches a client that pauses`(isStreamed: Bool, text: String) async throws {
    let bytes = Array(text.utf8)
    let backend = ScriptedBackend(answering: { _, _, _ in
      guard isStreamed else { return .text(text, status: 413) }
      let length = text.isEmpty ? nil : UInt64(bytes.count)
      return .stream(Pieces { $0 == 0 && !text.isEmpty ? bytes : nil }, length: length, status: 413)
    })
    let recorder = Recorder()
    let reading = try await withServer(backend, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\nabc")
        return client.readAnswer()
      }
    }
    #expect(reading.status == 413 && reading.body == text)
    #expect(reading.field("Connection") == "close")
    let record = try await recorder.records(count: 1)[0]
    #expect(record.status == 413 && record.bytesSent == UInt64(bytes.count))
  }

  @Test(
    arguments: [
      ("POST /", "Host: other", 421), ("GET /.offlinecache/status", "Host: localhost", 400),
      ("POST /", "Host: x", 413),
    ], ["Expect: 100-continue\r\n", ""])
  func `that refuses reaches a client that sends all of its body at once`(
    request: (line: String, host: String, status: Int), expect: String
  ) async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in .text("too large", status: 413) })
    let (isSent, reading) = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        let isSent = client.send(
          "\(request.line) HTTP/1.1\r\n\(request.host)\r\n\(expect)Content-Length: 1000000\r\n\r\n"
            + String(repeating: "x", count: 1_000_000))
        client.finishSending()
        return (isSent, client.read())
      }
    }
    #expect(isSent && reading.end == .closed)
    #expect(reading.text.contains("HTTP/1.1 \(request.status) "))
  }
}
