import CacheClient
import CacheStore
import HTTPSemantics
import Synchronization
import TestSupport
import Testing

@testable import CachingProxy

@Suite("A body that comes in pieces") struct ExchangeDownloadTests {
  private let pieces = (0..<50).map { String(repeating: "\($0),", count: $0 * 40 + 1) }

  @Test(arguments: [true, false])
  func `goes to the client as it comes`(hasLength: Bool) async throws {
    let all = pieces.joined()
    let backend = ScriptedBackend(answering: { [pieces] _, _, _ in
      .stream(Pieces(pieces), length: hasLength ? UInt64(all.utf8.count) : nil)
    })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(
        port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", untilClosed: true)
    }
    #expect(reading.field("Content-Length") == (hasLength ? "\(all.utf8.count)" : nil))
    #expect(reading.field("Transfer-Encoding") == (hasLength ? nil : "chunked"))
    #expect(hasLength ? reading.body == all : dechunked(reading.body) == all)
    #expect(reading.end == .closed)
  }

  @Test(arguments: [true, false], [true, false])
  func `is called stored in the log if it is`(hasLength: Bool, isStored: Bool) async throws {
    let error = StoreError(.noSpace, path: "/s", cause: "the disk is full", remedy: "free space")
    let folder = TemporaryFolder()
    let store = try Store(at: folder.path)
    defer { store.close() }
    let info = try store.put([1], for: "k")
    let storing: StoringState = isStored ? .stored(info) : .notStored(.failed(error))
    let recorder = Recorder()
    let backend = ScriptedBackend(answering: { _, _, _ in
      var answer = ProxyAnswer.stream(
        Pieces(["1", "2"], storing: storing), length: hasLength ? 2 : nil)
      answer.cacheStatus?.isStored = true
      answer.reason = "why"
      return answer
    })
    let reading = try await withServer(backend, observers: [recorder]) { port, _ in
      try await exchange(
        port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", untilClosed: true)
    }
    #expect(reading.field("Cache-Status")?.hasSuffix("stored") == true)
    let record = try await recorder.records(count: 1)[0]
    #expect(record.cacheStatus?.isStored == isStored)
    #expect(record.reason == (isStored ? "why" : "why; not stored: \(error)"))
    #expect(record.storingFailure == (isStored ? nil : error))
  }

  @Test func `may come from the store`() async throws {
    let backend = ScriptedBackend(stored: { _ in .stream(Pieces(["12", "34"]), length: 4) })
    let bodies = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        return (0..<2).map { _ in
          client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
          return client.readAnswer().body
        }
      }
    }
    #expect(bodies == ["1234", "1234"])
  }

  @Test func `ends with the connection for HTTP/1.0`() async throws {
    let backend = ScriptedBackend(answering: { [pieces] _, _, _ in .stream(Pieces(pieces)) })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(port, "GET / HTTP/1.0\r\n\r\n", untilClosed: true)
    }
    #expect(reading.body == pieces.joined())
    #expect(reading.end == .closed)
  }

  @Test func `may be empty, and the connection is kept`() async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in .stream(Pieces([])) })
    let text = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        client.send(request + request)
        return [client.read(until: "0\r\n\r\n").status, client.read(until: "0\r\n\r\n").status]
      }
    }
    #expect(text == [200, 200])
  }

  @Test func `that breaks off never looks complete`() async throws {
    let backend = ScriptedBackend(answering: { request, _, _ in
      let length: UInt64? = request.url.target == "/length" ? 100 : nil
      return .stream(Pieces(["some", "thing"], isBroken: true), length: length)
    })
    let recorder = Recorder()
    try await withServer(backend, observers: [recorder]) { port, _ in
      let length = try await exchange(
        port, "GET /length HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
      #expect(length.field("Content-Length") == "100")
      #expect(length.body.utf8.count < 100)
      #expect(length.end != .open)
      let chunks = try await exchange(
        port, "GET /chunks HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
      #expect(!chunks.body.hasSuffix("0\r\n\r\n"))
      #expect(chunks.end != .open)
      // Nothing but the reset tells a client of HTTP/1.0.
      let old = try await exchange(port, "GET /old HTTP/1.0\r\n\r\n", untilClosed: true)
      #expect(old.end == .reset)
      #expect(try await recorder.records(count: 3).allSatisfy { !$0.isComplete })
    }
  }

  @Test(arguments: [5, 20])
  func `that is not as long as was told is broken`(told: UInt64) async throws {
    let backend = ScriptedBackend(answering: { _, _, _ in
      .stream(Pieces(["0123", "456789"]), length: told)
    })
    let reading = try await withServer(backend) { port, _ in
      try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
    }
    #expect(reading.field("Content-Length") == "\(told)")
    #expect(reading.body.utf8.count < told)
    #expect(reading.end != .open)
  }

  @Test(arguments: ["HEAD / HTTP/1.1", "GET /204 HTTP/1.1", "GET /304 HTTP/1.1"])
  func `is read to its end and not sent where none belongs`(line: String) async throws {
    let pieces = Pieces(["a", "b", "c"])
    let (ended, ends) = AsyncStream.makeStream(of: Void.self)
    let backend = ScriptedBackend(answering: { request, _, _ in
      let source = Pieces { index in
        if index == 3 { ends.yield() }
        return try await pieces.next()
      }
      return .stream(source, status: Int(request.url.target.dropFirst()) ?? 200)
    })
    let reading = try await withServer(backend) { port, _ in
      let reading = try await exchange(
        port, "\(line)\r\nHost: x\r\nConnection: close\r\n\r\n", untilClosed: true)
      for await _ in ended { break }
      return reading
    }
    #expect(reading.body.isEmpty)
  }

  @Test func `waits while the client is slow`() async throws {
    let given = Mutex(0)
    let source = Pieces { index in
      given.withLock { $0 = index }
      return index < 10_000 ? [UInt8](repeating: 1, count: 10_000) : nil
    }
    let backend = ScriptedBackend(answering: { _, _, _ in .stream(source, length: 100_000_000) })
    let (ahead, total) = try await withServer(backend) { port, _ in
      try await onThread {
        let client = try RawClient(port: port, receiveBuffer: 32_768)
        client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        _ = client.read(until: "\r\n\r\n")
        client.waitUntilFull()
        let ahead = given.withLock { $0 }
        return (ahead, client.drain().count)
      }
    }
    #expect(total == 100_000_000)
    // The system's own buffers take some megabytes of a connection.
    #expect(ahead * 10_000 < 20_000_000)
  }

  @Test func `is let go of when the client leaves`() async throws {
    let (left, leaves) = AsyncStream.makeStream(of: Void.self)
    struct Endless: AnswerPieces {
      let storing = StoringState.pending
      let leaves: AsyncStream<Void>.Continuation
      func next() async throws -> [UInt8]? { [UInt8](repeating: 1, count: 100_000) }
      func cancel() { leaves.yield() }
    }
    let backend = ScriptedBackend(answering: { _, _, _ in
      ProxyAnswer(
        head: HTTPResponseHead(status: 200), body: .stream(length: nil, Endless(leaves: leaves)),
        source: .network, cacheStatus: nil)
    })
    let recorder = Recorder()
    try await withServer(backend, observers: [recorder]) { port, _ in
      try await onThread {
        let client = try RawClient(port: port)
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = client.read(count: 100_000)
      }
      for await _ in left { break }
      let record = try await recorder.records(count: 1)[0]
      #expect(!record.isComplete)
      #expect(record.bytesSent > 0)
    }
  }

  /// Takes the chunks off; nil where they are broken.
  private func dechunked(_ text: String) -> String? {
    // As bytes: CR and LF are one character.
    var rest = Array(text.utf8)[...]
    var result: [UInt8] = []
    while let end = rest.firstIndex(of: 0x0D),
      let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16)
    {
      rest = rest[end...].dropFirst(2)
      if size == 0 {
        return rest.elementsEqual([0x0D, 0x0A]) ? String(decoding: result, as: UTF8.self) : nil
      }
      result += rest.prefix(size)
      rest = rest.dropFirst(size)
      guard rest.starts(with: [0x0D, 0x0A]) else { return nil }
      rest = rest.dropFirst(2)
    }
    return nil
  }
}
