import HTTPSemantics
import HTTPTransports
import Testing

@testable import CachingProxy

@Suite("A body that a client sends") struct ExchangeUploadTests {
  /// Answers with the length and the sum of the body.
  private let summing = ScriptedBackend(answering: { _, body, _ in
    var told = "none"
    if case .stream(let length, _) = body { told = length.map { "\($0)" } ?? "unknown" }
    guard let bytes = await body.bytes() else { return .text("broken", status: 502) }
    return .text("\(told) \(bytes.count) \(bytes.reduce(0) { ($0 + Int($1)) % 65_521 })")
  })

  @Test(arguments: [1, 65_536, 200_000])
  func `comes as it was sent, with its length`(count: Int) async throws {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let reading = try await withServer(summing) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n")
        client.send(body)
        return client.readAnswer()
      }
    }
    let sum = body.reduce(0) { ($0 + Int($1)) % 65_521 }
    #expect(reading.body == "\(count) \(count) \(sum)")
  }

  @Test func `comes in chunks, and the connection is closed`() async throws {
    let request =
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "3;ext=1\r\nabc\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\n"
    let reading = try await withServer(summing) { port, _ in
      try await exchange(port, request + request, untilClosed: true)
    }
    #expect(reading.body == "unknown 4 394")
    #expect(reading.field("Connection") == "close" && reading.end == .closed)
  }

  @Test(arguments: ["5", "5\r\n"])
  func `breaks off if the client leaves within the frame of a chunk`(last: String) async throws {
    let (broken, breaks) = AsyncStream.makeStream(of: Bool.self)
    let backend = ScriptedBackend(answering: { _, body, _ in
      breaks.yield(await body.bytes() == nil)
      return .text("never sent")
    })
    let reading = try await withServer(backend) { port, _ in
      let reading = try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n")
        client.send("Transfer-Encoding: chunked\r\n\r\n")
        _ = client.read(until: "\r\n\r\n")
        client.sendLast(last)
        return client.read()
      }
      #expect(await broken.first { _ in true } == true)
      return reading
    }
    #expect(reading == RawClient.Reading(bytes: [], end: .closed))
  }

  @Test func `may be empty`() async throws {
    let backend = ScriptedBackend(answering: { _, body, _ in
      if case .bytes(let bytes) = body { return .text("\(bytes.count)") }
      return .text("none")
    })
    try await withServer(backend) { port, _ in
      let empty = try await exchange(
        port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
      #expect(empty.body == "0")
      #expect(try await exchange(port, "POST / HTTP/1.1\r\nHost: x\r\n\r\n").body == "none")
    }
  }

  @Test(arguments: [
    "Expect: 100-continue", "Expect:100-Continue \t", "Expect: x\r\nExpect: 100-continue",
  ])
  func `is not asked for before the origin wants it`(expect: String) async throws {
    let reading = try await withServer(summing) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\n\(expect)\r\nContent-Length: 3\r\n\r\n")
        let interim = client.read(until: "\r\n\r\n")
        #expect(interim.text == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        return client.readAnswer()
      }
    }
    #expect(reading.body == "3 3 294")
  }

  @Test func `is not asked for when the answer is there without it`() async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in .text("no", status: 401) })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(
        port, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        untilClosed: true)
    }
    #expect(reading.status == 401)
    #expect(reading.body == "no")
  }

  @Test func `is read to its end when the answer is there before`() async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in .text("no", status: 413) })
    let readings = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        client.send([UInt8](repeating: 0, count: 1_000_000))
        let first = client.readAnswer()
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return [first.body, client.readAnswer().body]
      }
    }
    #expect(readings == ["no", "no"])
  }

  @Test func `waits while the origin is slow, and all of it comes`() async throws {
    let size = 100 << 20
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let backend = ScriptedBackend(answering: { _, body, _ in
      guard case .stream(_, let source) = body else { return .text("none") }
      var count = 0
      do {
        count += try await source.next()?.count ?? 0
        for await _ in gate { break }
        while let piece = try await source.next() { count += piece.count }
      } catch { return .text("broken") }
      return .text("\(count)")
    })
    let (reading, sentBefore) = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
        let body = [UInt8](repeating: 1, count: size)
        // It stops where the buffers of the system and of the server are full.
        let before = client.sendUntilBlocked(body)
        opener.yield()
        client.send(Array(body[before...]))
        return (client.readAnswer(), before)
      }
    }
    #expect(reading.body == "\(size)")
    // The system's own buffers take some megabytes of a connection.
    #expect(sentBefore < 40 << 20)
  }

  @Test func `that breaks off breaks off at the origin, too`() async throws {
    let (broken, breaks) = AsyncStream.makeStream(of: Bool.self)
    let backend = ScriptedBackend(answering: { _, body, _ in
      breaks.yield(await body.bytes() == nil)
      return .text("")
    })
    let recorder = Recorder()
    try await withServer(backend, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
      }
      #expect(await broken.first { _ in true } == true)
      let records = try await recorder.records(count: 1)
      #expect(!records[0].isComplete)
      #expect(records[0].status == 0)
    }
  }

  @Test func `ends if the client breaks the connection while the origin takes nothing`()
    async throws
  {
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    // Returns when it is cancelled.
    let backend = ScriptedBackend(answering: { _, _, _ in
      for await _ in gate { break }
      return .text("")
    })
    let recorder = Recorder()
    try await withServer(backend, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n")
        _ = client.sendUntilBlocked([UInt8](repeating: 1, count: 50_000_000))
        client.breakConnection()
      }
      #expect(try await !recorder.records(count: 1)[0].isComplete)
    }
    opener.finish()
  }
}
