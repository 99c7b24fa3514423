import Glibc
import NginxOrigin
import Synchronization
import Testing
import TransportTesting

@testable import CurlHTTP

/// The two directions of a transfer that do not end in the usual order.
struct RunningTransferTests {
  @Test func `what the system has buffered and the server still takes is no silence`() async throws
  {
    let origin = try LoopbackOrigin { request, connection in
      connection.receivesLittle()
      var left = Int(request.value(of: "Content-Length") ?? "") ?? 0
      while left > 0, !connection.isOver {
        // The time that the transport measures has to pass: the upload takes longer than it may be
        // silent, and nothing but time tells both from each other.
        usleep(150_000)
        left -= connection.read(min(left, 64 * 1024)).count
      }
      connection.answer("taken")
    }
    let options = TransportOptions(idleTimeout: .seconds(3))
    let bytes = [UInt8](repeating: 1, count: 4 << 20)
    let (_, answer) = try await origin.send(.bytes(bytes), options: options)
    #expect(answer == Array("taken".utf8))
  }

  @Test(
    arguments: [
      ("GET", nil, true), ("POST", nil, false),
      ("PUT", .bytes([UInt8](repeating: 1, count: 70_000)), true),
      ("GET", .stream(length: 65_536, ScriptedSource.of([])), true),
      ("GET", .stream(length: 65_537, ScriptedSource.of([])), false),
      ("PUT", .stream(length: nil, ScriptedSource.of([])), false),
    ] as [(String, RequestBody?, Bool)])
  func `a request is repeatable if its method is, and its body can be read again`(
    method: String, body: RequestBody?, isRepeatable: Bool
  ) throws {
    let request = HTTPRequest(
      method: HTTPMethod(rawValue: method), url: try NormalizedURL("http://a.test/"))
    let transfer = Transfer(
      request, body.map { Upload($0) }, options: TransportOptions(), capacity: { 1 },
      onInterim: { _ in }, ask: { _, _ in })
    #expect(transfer.isRepeatable == isRepeatable)
  }

  @Test(arguments: ["2", "3"])
  func `an answer in a version that the connection does not have is an error`(version: String)
    async throws
  {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/\(version) 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    #expect(try await makeTransport().failure(origin.address())?.code == .protocolViolation)
  }

  @Test(.enabled(if: NginxOrigin.isInstalled))
  func `the same over TLS, where HTTP 2 was not agreed on`() async throws {
    let origin = try await SecureOrigin { _, origin in
      try origin.send("HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    #expect(try await origin.transport().failure(origin.address())?.code == .protocolViolation)
  }

  @Test(
    .timeLimit(.minutes(5)),
    arguments: ["", "Connection: close\r\n"], [true, false])
  func `an error ends an upload that never ends by itself`(fields: String, isSlow: Bool)
    async throws
  {
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
    let (response, answer) = try await origin.send(.stream(length: nil, source))
    #expect(response.head.status == 413)
    #expect(answer == Array("too large".utf8))
    await origin.connectionEnd()
  }

  @Test(.timeLimit(.minutes(5)))
  func `an answer that comes first does not cut the upload`() async throws {
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
    await eventually { received.withLock { $0 } != nil }
    #expect(received.withLock { $0 } == [0, 1, 2])
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["Connection: close\r\nContent-Length: 4", "X: y"])
  func `a server that answers and closes ends an upload that waits for its source`(fields: String)
    async throws
  {
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
    let (response, answer) = try await origin.send(.stream(length: nil, source))
    #expect(response.head.status == 200)
    #expect(answer == Array("fine".utf8))
  }

  @Test(.timeLimit(.minutes(5)))
  func `the idle timeout does not run while the source is slow, if the answer came first`()
    async throws
  {
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
    .timeLimit(.minutes(1)),
    arguments: ["1.1", "1.0"])
  func `the idle timeout runs after an error that has ended the upload`(version: String)
    async throws
  {
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

  @Test(.timeLimit(.minutes(5)))
  func `a server that does not read runs into the idle timeout`() async throws {
    let isOver = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { _, connection in connection.wait(for: isOver.stream) }
    defer { isOver.continuation.finish() }
    let url = try origin.address()
    let source = ScriptedSource { _ in [UInt8](repeating: 0, count: 1 << 20) }
    let error = await #expect(throws: TransportError.self) {
      try await origin.send(
        .stream(length: nil, source),
        options: TransportOptions(idleTimeout: .milliseconds(80)))
    }
    #expect(error == TransportError(.timeout, url: url.string))
  }
}
