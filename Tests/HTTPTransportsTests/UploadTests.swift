import Glibc
import HTTPSemantics
import HTTPTransports
import LoopbackOrigin
import Synchronization
import Testing
import TransportTesting

@testable import CurlHTTP

/// Waits for the end of the task.
private func untilCancelled() async {
  let never = AsyncStream.makeStream(of: Void.self)
  for await _ in never.stream {}
  // The stream would end with its continuation.
  never.continuation.finish()
}

struct UploadTests {
  private struct SourceError: Error {}

  private static let pattern = (0..<300_000).map { UInt8($0 % 251) }

  /// Uses the upload when it ends, which traps if the lock of the upload is held.
  private final class UserAtEnd: Sendable {
    static let ends = Mutex(0)
    private let upload: Upload

    init(_ upload: Upload) { self.upload = upload }

    deinit {
      _ = upload.rewind()
      Self.ends.withLock { $0 += 1 }
    }
  }

  @Test func `a closure that another one replaces is dropped outside of the lock`() {
    let source = ScriptedSource { _ in
      await untilCancelled()
      return nil
    }
    let upload = Upload(.stream(length: nil, source))
    // Safety: the buffer is empty.
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    for _ in 1...3 {
      let user = UserAtEnd(upload)
      #expect(unsafe upload.read(into: buffer) { _ = user } == .wait)
    }
    upload.stop()
    #expect(UserAtEnd.ends.withLock { $0 } == 3)
  }

  @Test(arguments: [0, 3])
  func `a body of a stated length ends after it`(count: Int) async throws {
    let rest = Mutex(count > 0 ? [Array(repeating: UInt8(1), count: count)] : [])
    let source = ScriptedSource { _ in rest.withLock { $0.popLast() } }
    let upload = Upload(.stream(length: UInt64(count), source))
    var bytes = [UInt8](repeating: 0, count: 9)
    var read = 0
    while true {
      let (ready, signal) = AsyncStream.makeStream(of: Void.self)
      let result = unsafe bytes.withUnsafeMutableBytes {
        unsafe upload.read(into: $0) { signal.finish() }
      }
      if case .bytes(let more) = result { read += more }
      if case .wait = result { for await _ in ready {} }
      if case .end = result { break }
    }
    #expect(read == count)
  }

  private func send(
    _ origin: LoopbackOrigin, _ body: RequestBody?, by kind: TransportKind = .curl,
    method: String = "POST", fields: HTTPFields = [], options: TransportOptions = patient
  ) async throws -> (TransportResponse, [UInt8]) {
    let response = try await kind.make().send(
      HTTPRequest(method: HTTPMethod(rawValue: method), url: origin.address(), fields: fields),
      body: body,
      options: options
    ) { _ in }
    return (response, try await response.body.readAll())
  }

  /// Answers with the body that it got, read by the framing that the request states.
  private func echo() throws -> LoopbackOrigin {
    try LoopbackOrigin { request, connection in
      let length = request.value(of: "Content-Length").flatMap { Int($0) }
      let isChunked = request.value(of: "Transfer-Encoding") == "chunked"
      guard length == nil || !isChunked else { return connection.close() }
      let body = isChunked ? connection.readChunked() : connection.read(length ?? 0)
      if let body { connection.answer(body) } else { connection.close() }
    }
  }

  private static let methods = [
    "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "M-SEARCH", "PROPFIND", "X!unknown",
  ]

  @Test(
    "a body of known length arrives whole, with any method and size",
    arguments: methods.map { ($0, TransportKind.curl) } + methods.map { ($0, .urlSession) }
      + [("GET", .curl)], [0, 1, 16_384, 300_000])
  func bytes(method: (String, TransportKind), count: Int) async throws {
    let origin = try echo()
    let body = Array(Self.pattern.prefix(count))
    let (_, answer) = try await send(origin, .bytes(body), by: method.1, method: method.0)
    #expect(answer == body)
    let seen = try #require(origin.requests.first)
    #expect(seen.method == method.0)
    #expect(seen.value(of: "Content-Length") == "\(count)")
    #expect(seen.value(of: "Transfer-Encoding") == nil)
    #expect(seen.value(of: "Expect") == nil)
  }

  @Test(
    "a streamed body arrives whole, with its length or chunked",
    arguments: [nil, 200_003] as [UInt64?],
    [
      ("PUT", TransportKind.curl), ("DELETE", .curl), ("GET", .curl), ("PUT", .urlSession),
      ("DELETE", .urlSession),
    ])
  func stream(length: UInt64?, method: (String, TransportKind)) async throws {
    let origin = try echo()
    let pieces = [[1, 2, 3], [], Self.pattern.prefix(200_000), []].map { Array($0) }
    let source = ScriptedSource { index in
      await Task.yield()
      return index < pieces.count ? pieces[index] : nil
    }
    let (_, answer) = try await send(
      origin, .stream(length: length, source), by: method.1, method: method.0,
      fields: [HTTPField("Content-Length", "7"), HTTPField("Transfer-Encoding", "gzip")])
    #expect(answer == pieces.flatMap { $0 })
    let seen = try #require(origin.requests.first)
    // On Linux, the body for URLSession is read to its end before it is sent.
    let isChunked = length == nil && method.1 == .curl
    #expect(seen.value(of: "Content-Length") == (isChunked ? nil : "200003"))
    #expect(seen.value(of: "Transfer-Encoding") == (isChunked ? "chunked" : nil))
    #expect(seen.value(of: "Expect") == nil)
  }

  @Test("an empty stream is an empty body", arguments: [nil, 0] as [UInt64?])
  func emptyStream(length: UInt64?) async throws {
    let origin = try echo()
    let source = ScriptedSource.of([])
    let (_, answer) = try await send(origin, .stream(length: length, source))
    #expect(answer.isEmpty)
    #expect(source.asked == (length == nil ? 1 : 0))
  }

  @Test("a source is asked at the pace of the network", .timeLimit(.minutes(5)))
  func backPressure() async throws {
    let mayRead = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in
      // Nothing of the body is read before the client is known to have stopped asking.
      connection.wait(for: mayRead.stream)
      if let body = connection.readChunked() { connection.answer("\(body.count)") }
    }
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    let source = ScriptedSource { $0 < 64 ? piece : nil }
    let url = try origin.address()
    let transport = try makeTransport()
    // On a busy machine nothing comes for long.
    let unbounded = TransportOptions(connectTimeout: nil, idleTimeout: nil, wholeTimeout: nil)
    let task = Task {
      try await transport.send(
        HTTPRequest(method: HTTPMethod(rawValue: "PUT"), url: url),
        body: .stream(length: nil, source), options: unbounded
      ) { _ in }.body.readAll()
    }
    var before = -1
    // What the kernel buffers is some megabytes; the rest waits.
    while source.asked != before || source.asked == 0 {
      before = source.asked
      for _ in 0..<5_000 { await Task.yield() }
    }
    #expect(source.asked < 32)
    mayRead.continuation.finish()
    #expect(try await task.value == Array("\(64 << 20)".utf8))
    #expect(source.asked == 65)
  }

  @Test(
    "a source that throws, or breaks its promise, never makes a whole request",
    arguments: [nil, 5, 11] as [UInt64?])
  func failingSource(length: UInt64?) async throws {
    let bodies = Mutex<[[UInt8]?]>([])
    let origin = try LoopbackOrigin { request, connection in
      let length = request.value(of: "Content-Length").flatMap { Int($0) }
      let body = length.map { connection.read($0) } ?? connection.readChunked()
      bodies.withLock { $0.append(length == body?.count ? body : nil) }
      connection.waitForClose()
    }
    let source = ScriptedSource { index in
      if index == 0 { return Array("abc".utf8) }
      if length == 5 { return Array("defg".utf8) }
      if length == 11, index == 1 { return nil }
      throw SourceError()
    }
    let url = try origin.address()
    let error = await #expect(throws: TransportError.self) {
      try await send(origin, .stream(length: length, source))
    }
    #expect(error == TransportError(.requestBodyFailed, url: url.string))
    await origin.connectionEnd()
    #expect(bodies.withLock { $0 } == [nil])
  }

  @Test("what the system has buffered and the server still takes is no silence")
  func slowServer() async throws {
    let origin = try LoopbackOrigin { request, connection in
      connection.receivesLittle()
      var left = Int(request.value(of: "Content-Length") ?? "") ?? 0
      while left > 0, !connection.isOver {
        // The time that the transport measures has to pass: the upload takes longer than it may be
        // silent, and nothing but time tells both from each other.
        usleep(50_000)
        left -= connection.read(min(left, 64 * 1024)).count
      }
      connection.answer("taken")
    }
    let options = TransportOptions(idleTimeout: .seconds(1))
    let bytes = [UInt8](repeating: 1, count: 4 << 20)
    let (_, answer) = try await send(origin, .bytes(bytes), options: options)
    #expect(answer == Array("taken".utf8))
  }

  @Test(
    "an error ends an upload that never ends by itself", .timeLimit(.minutes(5)),
    arguments: ["", "Connection: close\r\n"], [true, false])
  func earlyError(fields: String, isSlow: Bool) async throws {
    let isLetGo = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in
      // By then the source has been asked for what comes after the mark.
      _ = connection.read(through: "mark")
      connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\(fields)\r\ntoo ")
      // The rest of the answer comes when the client has let go of its source.
      if isSlow { connection.wait(for: isLetGo.stream) }
      connection.send("large")
      connection.waitForClose()
    }
    let source = ScriptedSource { index in
      if index == 19 { return Array("mark".utf8) }
      if isSlow, index == 20 {
        await untilCancelled()
        isLetGo.continuation.finish()
      }
      return [UInt8](repeating: 1, count: 10_000)
    }
    let (response, answer) = try await send(origin, .stream(length: nil, source))
    #expect(response.head.status == 413)
    #expect(answer == Array("too large".utf8))
    await origin.connectionEnd()
  }

  @Test("an answer that comes first does not cut the upload", .timeLimit(.minutes(5)))
  func earlyAnswer() async throws {
    let received = Mutex<[UInt8]?>(nil)
    let hasHead = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("fine")
      let body = connection.readChunked()
      received.withLock { $0 = body }
    }
    let source = ScriptedSource { index in
      if index == 0 { for await _ in hasHead.stream {} }
      return index < 3 ? [UInt8(index)] : nil
    }
    let response = try await makeTransport().send(
      HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: origin.address()),
      body: .stream(length: nil, source), options: patient
    ) { _ in }
    #expect(response.head.status == 200)
    #expect(try await response.body.next() == Array("fine".utf8))
    hasHead.continuation.finish()
    #expect(try await response.body.next() == nil)
    // The connection is kept: its script has ended when another request on it is answered.
    while received.withLock({ $0 }) == nil { await Task.yield() }
    #expect(received.withLock { $0 } == [0, 1, 2])
  }

  @Test(
    "a server that answers and closes ends an upload that waits for its source",
    .timeLimit(.minutes(5)), arguments: ["Connection: close\r\nContent-Length: 4", "X: y"])
  func answerAndClose(fields: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      _ = connection.read(through: "1\r\n\u{1}\r\n")
      connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nfine")
      connection.close()
    }
    let source = ScriptedSource { index in
      guard index > 0 else { return [1] }
      await untilCancelled()
      return nil
    }
    let (response, answer) = try await send(origin, .stream(length: nil, source))
    #expect(response.head.status == 200)
    #expect(answer == Array("fine".utf8))
  }

  @Test(
    "cancelling ends an upload whose source waits", .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func cancelled(kind: TransportKind) async throws {
    let isAsked = AsyncStream.makeStream(of: Void.self)
    let isCancelled = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in connection.waitForClose() }
    let source = ScriptedSource { _ in
      isAsked.continuation.finish()
      await untilCancelled()
      if Task.isCancelled { isCancelled.continuation.finish() }
      return nil
    }
    let url = try origin.address()
    let transport = try kind.make()
    let task = Task {
      try await transport.send(
        HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: url),
        body: .stream(length: nil, source), options: patient
      ) { _ in }
    }
    for await _ in isAsked.stream {}
    task.cancel()
    let error = await #expect(throws: TransportError.self) { try await task.value }
    #expect(error == TransportError(.cancelled, url: url.string))
    for await _ in isCancelled.stream {}
    await origin.connectionEnd()
  }

  @Test(
    "the idle timeout does not run while the source is slow", .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func slowSource(kind: TransportKind) async throws {
    let origin = try echo()
    let silent = try LoopbackOrigin { _, connection in connection.waitForClose() }
    let transport = try kind.make()
    // URLSession on Linux does not tell of a connection, so both times count for it.
    let options = TransportOptions(connectTimeout: .seconds(1), idleTimeout: .seconds(1))
    let silentURL = try silent.address()
    let source = ScriptedSource { index in
      guard index == 1 else { return index < 3 ? [UInt8(index)] : nil }
      // Waits for longer than the timeout, which this one on the same loop shows.
      #expect(await transport.failure(silentURL, options: options)?.code == .timeout)
      return [1]
    }
    let response = try await transport.send(
      HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: origin.address()),
      body: .stream(length: nil, source), options: options
    ) { _ in }
    #expect(try await response.body.readAll() == [0, 1, 2])
  }

  @Test(
    "the idle timeout does not run while the source is slow, if the answer came first",
    .timeLimit(.minutes(5)))
  func slowSourceAfterAnswer() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("fine")
      if connection.readChunked() != [0, 1, 2] { connection.close() }
    }
    let silent = try LoopbackOrigin { _, connection in connection.waitForClose() }
    let transport = try makeTransport()
    let options = TransportOptions(idleTimeout: .seconds(1))
    let silentURL = try silent.address()
    let isReceived = AsyncStream.makeStream(of: Void.self)
    let source = ScriptedSource { index in
      guard index == 1 else { return index < 3 ? [UInt8(index)] : nil }
      for await _ in isReceived.stream {}
      // Waits for longer than the timeout, which this one on the same loop shows.
      #expect(await transport.failure(silentURL, options: options)?.code == .timeout)
      return [1]
    }
    let response = try await transport.send(
      HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: origin.address()),
      body: .stream(length: nil, source), options: options
    ) { _ in }
    #expect(try await response.body.next() == Array("fine".utf8))
    isReceived.continuation.finish()
    #expect(try await response.body.next() == nil)
  }

  @Test(
    "the idle timeout runs after an error that has ended the upload", .timeLimit(.minutes(1)),
    arguments: ["1.1", "1.0"])
  func stalledError(version: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      _ = connection.read(through: "mark")
      connection.send(
        "HTTP/\(version) 413 Too Large\r\nConnection: close\r\nContent-Length: 100\r\n\r\ntoo")
      connection.waitForClose()
    }
    let source = ScriptedSource { index in
      if index == 1 { await untilCancelled() }
      return Array("mark".utf8)
    }
    let url = try origin.address()
    let response = try await makeTransport().send(
      HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: url),
      body: .stream(length: nil, source), options: TransportOptions(idleTimeout: .seconds(1))
    ) { _ in }
    #expect(response.head.status == 413)
    #expect(try await response.body.next() == Array("too".utf8))
    let error = await #expect(throws: TransportError.self) { try await response.body.next() }
    #expect(error == TransportError(.timeout, url: url.string))
  }

  @Test("a server that does not read runs into the idle timeout", .timeLimit(.minutes(5)))
  func stuckServer() async throws {
    let isOver = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in connection.wait(for: isOver.stream) }
    defer { isOver.continuation.finish() }
    let url = try origin.address()
    let source = ScriptedSource { _ in [UInt8](repeating: 0, count: 1 << 20) }
    let error = await #expect(throws: TransportError.self) {
      try await send(
        origin, .stream(length: nil, source),
        options: TransportOptions(idleTimeout: .milliseconds(80)))
    }
    #expect(error == TransportError(.timeout, url: url.string))
  }

  @Test("a body waits for the server's consent when the caller asks for it")
  func consent() async throws {
    let source = ScriptedSource.of([Array("abc".utf8)])
    let asked = Mutex<Int?>(nil)
    let origin = try LoopbackOrigin { request, connection in
      asked.withLock { $0 = source.asked }
      connection.send("HTTP/1.1 100 Continue\r\n\r\n")
      if let body = connection.readChunked() { connection.answer(body) }
    }
    let (_, answer) = try await send(
      origin, .stream(length: nil, source), fields: [HTTPField("Expect", "100-continue")])
    #expect(answer == Array("abc".utf8))
    #expect(asked.withLock { $0 } == 0)
    #expect(
      origin.requests.first?.lines.filter { $0.hasPrefix("Expect") } == ["Expect: 100-continue"])
  }

  @Test("a refused expectation is an answer like any other, and is not sent again")
  func refusedConsent() async throws {
    let source = ScriptedSource.of([Array("abc".utf8)])
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("no", status: "417 Expectation Failed")
      connection.waitForClose()
    }
    let (response, answer) = try await send(
      origin, .stream(length: nil, source), fields: [HTTPField("Expect", "100-continue")])
    #expect(response.head.status == 417)
    #expect(answer == Array("no".utf8))
    #expect(source.asked == 0)
    #expect(origin.requests.count == 1)
  }

  @Test("a server that knows no expectations gets the body after a while", .timeLimit(.minutes(5)))
  func noConsent() async throws {
    let origin = try echo()
    let (_, answer) = try await send(
      origin, .bytes(Array("abc".utf8)), fields: [HTTPField("Expect", "100-continue")])
    #expect(answer == Array("abc".utf8))
  }

  @Test("HEAD and TRACE have no body, CONNECT is no exchange, a Host stands once")
  func refused() async throws {
    let origin = try echo()
    let url = try origin.address().string
    let two: HTTPFields = [HTTPField("Host", "a"), HTTPField("host", "a")]
    let body = RequestBody.bytes([1])
    let requests: [(String, RequestBody?, HTTPFields)] = [
      ("HEAD", body, []), ("TRACE", body, []), ("CONNECT", nil, []), ("GET", nil, two),
      ("PUT", .stream(length: 1 << 63, ScriptedSource.of([])), []),
      ("PUT", nil, [HTTPField("Expect", "100-continue\r\nX: y")]),
    ]
    for (method, body, fields) in requests {
      let error = await #expect(throws: TransportError.self) {
        try await send(origin, body, method: method, fields: fields)
      }
      #expect(error == TransportError(.invalidRequest, url: url))
    }
    #expect(origin.requests.isEmpty)
  }
}
