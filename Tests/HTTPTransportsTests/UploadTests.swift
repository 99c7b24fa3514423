import CurlHTTP
import Synchronization
import Testing
import TransportTesting

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

  @Test func `a short body is held only if it may be sent again`() {
    let source = ScriptedSource { _ in nil }
    for mayRepeat in [true, false] {
      #expect(Upload(.stream(length: 3, source), mayRepeat: mayRepeat).isHeld == mayRepeat)
    }
  }

  private static let methods = [
    "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "M-SEARCH", "PROPFIND", "X!unknown",
  ]

  @Test(
    arguments: methods.map { ($0, TransportKind.curl) } + methods.map { ($0, .urlSession) }
      + [("GET", .curl)], [0, 1, 16_384, 300_000])
  func `a body of known length arrives whole, with any method and size`(
    method: (String, TransportKind), count: Int
  ) async throws {
    let origin = try LoopbackOrigin.echo()
    let body = Array(Self.pattern.prefix(count))
    let (_, answer) = try await origin.send(.bytes(body), by: method.1, method: method.0)
    #expect(answer == body)
    let seen = try #require(origin.requests.first)
    #expect(seen.method == method.0)
    #expect(seen.value(of: "Content-Length") == "\(count)")
    #expect(seen.value(of: "Transfer-Encoding") == nil)
    #expect(seen.value(of: "Expect") == nil)
  }

  @Test(
    arguments: [nil, 200_003] as [UInt64?],
    [
      ("PUT", TransportKind.curl), ("DELETE", .curl), ("GET", .curl), ("PUT", .urlSession),
      ("DELETE", .urlSession),
    ])
  func `a streamed body arrives whole, with its length or chunked`(
    length: UInt64?, method: (String, TransportKind)
  ) async throws {
    let origin = try LoopbackOrigin.echo()
    let pieces = [[1, 2, 3], [], Self.pattern.prefix(200_000), []].map { Array($0) }
    let source = ScriptedSource { index in
      await Task.yield()
      return index < pieces.count ? pieces[index] : nil
    }
    let (_, answer) = try await origin.send(
      .stream(length: length, source), by: method.1, method: method.0,
      fields: [HTTPField("Content-Length", "7"), HTTPField("Transfer-Encoding", "gzip")])
    #expect(answer == pieces.flatMap { $0 })
    let seen = try #require(origin.requests.first)
    // On Linux, the body for URLSession is read to its end before it is sent.
    let isChunked = length == nil && method.1 == .curl
    #expect(seen.value(of: "Content-Length") == (isChunked ? nil : "200003"))
    #expect(seen.value(of: "Transfer-Encoding") == (isChunked ? "chunked" : nil))
    #expect(seen.value(of: "Expect") == nil)
  }

  @Test(arguments: [nil, 0] as [UInt64?])
  func `an empty stream is an empty body`(length: UInt64?) async throws {
    let origin = try LoopbackOrigin.echo()
    let source = ScriptedSource.of([])
    let (_, answer) = try await origin.send(.stream(length: length, source))
    #expect(answer.isEmpty)
    #expect(source.asked == (length == nil ? 1 : 0))
  }

  @Test(.timeLimit(.minutes(5)))
  func `a source is asked at the pace of the network`() async throws {
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

  @Test(arguments: [nil, 5, 11] as [UInt64?])
  func `a source that throws, or breaks its promise, never makes a whole request`(length: UInt64?)
    async throws
  {
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
      try await origin.send(.stream(length: length, source))
    }
    #expect(error == TransportError(.requestBodyFailed, url: url.string))
    await origin.connectionEnd()
    #expect(bodies.withLock { $0 } == [nil])
  }

  @Test(
    .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func `cancelling ends an upload whose source waits`(kind: TransportKind) async throws {
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
    .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func `the idle timeout does not run while the source is slow`(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin.echo()
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
}
