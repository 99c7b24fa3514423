import Synchronization
import Testing
import TransportTesting

@testable import CurlHTTP

struct KeptConnectionTests {
  private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

  private static let answers = [
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", "HTTP/1.1 204 None\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ]

  @Test(
    "bytes after the end of an answer never answer the next request", .timeLimit(.minutes(5)),
    arguments: answers, [true, false])
  func strayBytes(answer: String, isLate: Bool) async throws {
    let isRead = AsyncStream.makeStream(of: Void.self)
    let isSent = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { request, connection in
      guard request.target == "/first" else { return connection.answer("good") }
      connection.send(isLate ? answer : answer + Self.evil)
      guard isLate else { return }
      connection.wait(for: isRead.stream)
      connection.send(Self.evil)
      isSent.continuation.finish()
    }
    let transport = try makeTransport()
    let (response, body) = try await transport.fetch(origin.address("/first"))
    #expect([200, 204, 304].contains(response.head.status))
    #expect(body == (answer.hasSuffix("abc") ? "abc" : ""))
    isRead.continuation.finish()
    if isLate { for await _ in isSent.stream {} }
    for _ in 0..<3 { #expect(try await transport.fetch(origin.address("/next")).body == "good") }
    if isLate { #expect(origin.connections == 2) }
  }

  @Test(
    "an answer that more follows, or that announces a body it cannot have, is the last one",
    .timeLimit(.minutes(5)),
    arguments: [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmo",
      "HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\n",
    ])
  func last(answer: String) async throws {
    let origin = try LoopbackOrigin { request, connection in
      if request.target == "/first" { connection.send(answer) } else { connection.answer("good") }
    }
    let transport = try makeTransport()
    #expect(try await transport.fetch(origin.address("/first")).body.isEmpty)
    #expect(try await transport.fetch(origin.address("/next")).body == "good")
    #expect(origin.connections == 2)
  }

  @Test("what a HEAD must not bring does not answer the next request", .timeLimit(.minutes(5)))
  func strayAfterHead() async throws {
    let isRead = AsyncStream.makeStream(of: Void.self)
    let isSent = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { request, connection in
      guard request.method == "HEAD" else { return connection.answer("good") }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.evil.utf8.count)\r\n\r\n")
      connection.wait(for: isRead.stream)
      connection.send(Self.evil)
      isSent.continuation.finish()
    }
    let transport = try makeTransport()
    let response = try await transport.send(
      HTTPRequest(method: .head, url: origin.address()), options: patient)
    #expect(try await response.body.readAll().isEmpty)
    isRead.continuation.finish()
    for await _ in isSent.stream {}
    #expect(try await transport.fetch(origin.address()).body == "good")
  }

  /// Answers the first request of each connection; on the second of the first one it hangs up.
  private func forgetfulOrigin() throws -> LoopbackOrigin {
    let requests = Counter()
    return try LoopbackOrigin { request, connection in
      let length = request.value(of: "Content-Length").flatMap { Int($0) } ?? 0
      let isChunked = request.value(of: "Transfer-Encoding") == "chunked"
      let body = isChunked ? connection.readChunked() ?? [] : connection.read(length)
      guard requests.next() == 1 else { return connection.answer(body) }
      connection.close()
    }
  }

  @Test(
    "a request that is lost on a kept connection is sent again if it may be",
    arguments: [
      ("GET", 0, false), ("PUT", 100_000, false), ("DELETE", 100_000, false), ("GET", 3, true),
      ("PUT", Int(Upload.heldBytes), true),
    ])
  func repeated(method: String, count: Int, isStream: Bool) async throws {
    let origin = try forgetfulOrigin()
    let transport = try makeTransport()
    _ = try await transport.fetch(origin.address())
    let body = (0..<count).map { UInt8($0 % 251) }
    let pieces = [Array(body.prefix(1000)), [], Array(body.dropFirst(1000))]
    let response = try await transport.send(
      HTTPRequest(method: HTTPMethod(rawValue: method), url: origin.address()),
      body: isStream
        ? .stream(length: UInt64(count), ScriptedSource.of(pieces))
        : count > 0 ? .bytes(body) : nil,
      options: patient
    ) { _ in }
    #expect(try await response.body.readAll() == body)
    #expect(origin.requests.map(\.method) == ["GET", method, method])
  }

  @Test(
    "a request is sent again also if the connection is lost while its body is sent",
    .timeLimit(.minutes(5)))
  func repeatedBody() async throws {
    let body = [UInt8](repeating: 7, count: 32 << 20)
    let requests = Counter()
    let origin = try LoopbackOrigin { _, connection in
      guard requests.next() == 1 else {
        return connection.answer("\(connection.read(body.count).count)")
      }
      // The client finds the end before it has sent all, and cannot send the rest.
      connection.close()
      _ = connection.read(body.count / 2)
    }
    let transport = try makeTransport()
    let request = HTTPRequest(method: HTTPMethod(rawValue: "PUT"), url: try origin.address())
    for _ in 1...2 {
      let response = try await transport.send(
        request, body: .bytes(body), options: patient, onInterim: { _ in })
      #expect(try await response.body.readAll() == Array("\(body.count)".utf8))
    }
    #expect(origin.connections == 2 && origin.requests.count == 3)
  }

  @Test(
    "a request that must not be repeated, or cannot be, is lost",
    arguments: [
      ("POST", nil), ("POST", .stream(length: 3, ScriptedSource.of([[1, 2, 3]]))), ("PATCH", nil),
      ("PUT", .stream(length: nil, ScriptedSource.of([[1, 2, 3]]))),
      ("PUT", .stream(length: Upload.heldBytes + 1, ScriptedSource { _ in longPiece })), ("X", nil),
    ] as [(String, RequestBody?)])
  func notRepeated(method: String, body: RequestBody?) async throws {
    let origin = try forgetfulOrigin()
    let transport = try makeTransport()
    _ = try await transport.fetch(origin.address())
    let url = try origin.address()
    let error = await #expect(throws: TransportError.self) {
      try await transport.send(
        HTTPRequest(method: HTTPMethod(rawValue: method), url: url), body: body, options: patient
      ) { _ in }
    }
    #expect(error == TransportError(.connectionLost, url: url.string))
    #expect(origin.requests.count == 2)
  }

  @Test(
    "a kept connection that the server has closed is not used", .timeLimit(.minutes(5)),
    arguments: TransportKind.allCases)
  func closedMeanwhile(kind: TransportKind) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("x")
      connection.close()
    }
    let transport = try kind.make()
    for count in 1...5 {
      let response = try await transport.send(
        HTTPRequest(method: HTTPMethod(rawValue: "POST"), url: origin.address()), options: patient)
      #expect(try await response.body.readAll() == Array("x".utf8))
      #expect(origin.connections == count)
      await origin.connectionEnd()
    }
  }
}

private let longPiece = [UInt8](repeating: 7, count: Int(Upload.heldBytes) + 1)

/// Counts from 0.
final class Counter: Sendable {
  private let count = Mutex(0)

  func next() -> Int {
    count.withLock { count in
      defer { count += 1 }
      return count
    }
  }
}
