import NginxOrigin
import Testing
import TransportTesting

@testable import CurlHTTP

/// Kept connections on which something may have come after the last answer.
@Suite(.timeLimit(.minutes(2))) struct IdleSocketsTests {
  private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
  private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

  @Test(
    "bytes in the last record of an answer do not answer the next request",
    .enabled(if: NginxOrigin.isInstalled))
  func strayInRecord() async throws {
    let isRead = AsyncStream.makeStream(of: Void.self)
    let origin = try await SecureOrigin { target, origin in
      guard target == "/first" else { return try origin.send(Self.good) }
      try origin.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12")
      for await _ in isRead.stream {}
      try origin.send("34" + Self.evil)
    }
    let transport = try origin.transport()
    let first = try await transport.send(HTTPRequest(url: origin.address("/first")))
    #expect(try await first.body.next() == Array("12".utf8))
    isRead.continuation.finish()
    #expect(try await first.body.readAll() == Array("34".utf8))
    #expect(try await transport.fetch(origin.address("/next")).body == "good")
    #expect(try await transport.fetch(origin.address("/last")).body == "good")
    #expect(origin.connections == 2)
  }

  @Test(
    "bytes that come with an answer without a body do not answer the next request",
    arguments: [
      (HTTPMethod.head, "200 OK\r\nContent-Length: 9"), (.get, "204 No Content"),
      (.get, "304 Not Modified"), (.get, "200 OK\r\nContent-Length: 0"),
    ], ["", "HTT"])
  func strayAfterHead(answer: (method: HTTPMethod, head: String), stray: String) async throws {
    let origin = try LoopbackOrigin { request, connection in
      guard request.target == "/first" else { return connection.answer("good") }
      connection.send("HTTP/1.1 \(answer.head)\r\n\r\n\(stray)")
    }
    let transport = try makeTransport()
    let request = HTTPRequest(method: answer.method, url: try origin.address("/first"))
    #expect(try await transport.send(request).body.readAll().isEmpty)
    #expect(try await transport.fetch(origin.address("/next")).body == "good")
    #expect(origin.connections == (stray.isEmpty ? 1 : 2))
  }

  @Test("the same over TLS", .enabled(if: NginxOrigin.isInstalled), arguments: ["", "HTT"])
  func secureStrayAfterHead(stray: String) async throws {
    let origin = try await SecureOrigin { target, origin in
      try origin.send(target == "/first" ? "HTTP/1.1 204 No Content\r\n\r\n" + stray : Self.good)
    }
    let transport = try origin.transport()
    #expect(try await transport.fetch(origin.address("/first")).body == "")
    #expect(try await transport.fetch(origin.address("/next")).body == "good")
    #expect(origin.connections == (stray.isEmpty ? 1 : 2))
  }

  @Test("a connection with TLS is used again", .enabled(if: NginxOrigin.isInstalled))
  func secureReuse() async throws {
    let origin = try await SecureOrigin { _, origin in try origin.send(Self.good) }
    let transport = try origin.transport()
    for _ in 0..<4 { #expect(try await transport.fetch(origin.address()).body == "good") }
    #expect(origin.connections == 1)
  }

  @Test("a connection without TLS is used again where others may go through a proxy with TLS")
  func directReuse() async throws {
    let origin = try LoopbackOrigin { _, connection in connection.answer("good") }
    let transport = try CurlTransport(
      NetworkSetup(proxy: .url("https://127.0.0.1:9", except: "127.0.0.1")))
    for _ in 0..<4 { #expect(try await transport.fetch(origin.address()).body == "good") }
    #expect(origin.connections == 1)
  }

  /// Makes a transport that has one connection, so that libcurl holds other transfers back.
  private func narrowTransport() throws -> CurlTransport {
    var setup = NetworkSetup(proxy: .none)
    setup.connections = 1
    return try CurlTransport(setup)
  }

  @Test("the same on a connection's first use by a transfer that libcurl has held back")
  func heldBack() async throws {
    let isRead = AsyncStream.makeStream(of: Void.self)
    let origin = try LoopbackOrigin { request, connection in
      guard request.target == "/first" else { return connection.answer("good") }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12")
      connection.wait(for: isRead.stream)
      connection.send("34" + Self.evil)
    }
    let transport = try narrowTransport()
    let first = try await transport.send(HTTPRequest(url: origin.address("/first")))
    #expect(try await first.body.next() == Array("12".utf8))
    let next = try transport.start(HTTPRequest(url: origin.address("/next")), nil, patient)
    // libcurl has that one when a later one, which cannot get a connection either, has ended.
    let late = HTTPRequest(url: try origin.address("/late"))
    await #expect(throws: TransportError(.timeout, url: late.url.string)) {
      try await transport.send(late, options: TransportOptions(wholeTimeout: .milliseconds(1)))
    }
    isRead.continuation.finish()
    #expect(try await first.body.readAll() == Array("34".utf8))
    #expect(try await next.response().body.readAll() == Array("good".utf8))
    #expect(origin.connections == 2)
  }

  @Test("transfers that libcurl has held back use the connection of the ones before")
  func heldBackReuse() async throws {
    let origin = try LoopbackOrigin { _, connection in connection.answer("good") }
    let transport = try narrowTransport()
    let bodies = try (0..<20).map { _ in
      try transport.start(HTTPRequest(url: origin.address()), nil, patient)
    }
    for body in bodies { #expect(try await body.response().body.readAll() == Array("good".utf8)) }
    #expect(origin.connections == 1)
  }

  @Test(
    "a body without length is complete only if TLS was closed",
    .enabled(if: NginxOrigin.isInstalled))
  func cut() async throws {
    let isRead = AsyncStream.makeStream(of: Void.self)
    let origin = try await SecureOrigin { _, origin in
      try origin.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n12")
      for await _ in isRead.stream {}
      try origin.send(SecureOrigin.cut)
    }
    let url = try origin.address()
    let response = try await origin.transport().send(HTTPRequest(url: url))
    #expect(try await response.body.next() == Array("12".utf8))
    isRead.continuation.finish()
    await #expect(throws: TransportError(.truncatedBody, url: url.string)) {
      try await response.body.next()
    }
    let closing = try await SecureOrigin(["-www"])
    #expect(try await closing.transport().fetch(closing.address()).body.contains("</pre>"))
  }
}
