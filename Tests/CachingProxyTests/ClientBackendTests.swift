import CLibrary
import CacheClient
import CacheStore
import CacheSystem
import CurlHTTP
import Foundation
import HTTPCaching
import HTTPSemantics
import HTTPTransports
import LoopbackOrigin
import Synchronization
import Testing

@testable import CachingProxy

/// Makes an origin that ends each connection after one answer.
private func makeOrigin(_ script: @escaping LoopbackOrigin.ByteScript) throws -> LoopbackOrigin {
  try LoopbackOrigin { request, connection in
    script(request, connection)
    connection.close()
  }
}

/// Runs a proxy with a store of its own in front of an origin.
private func withProxy<Result: Sendable>(
  _ origin: LoopbackOrigin, isOffline: Bool = false, role: CacheRules.Role = .privateCache,
  _ body: (UInt16) async throws -> Result
) async throws -> Result {
  let folder = TemporaryFolder()
  let store = try Store(at: folder.path)
  defer { store.close() }
  return try await withProxy(origin, store, isOffline: isOffline, role: role, body)
}

private func withProxy<Result: Sendable>(
  _ origin: LoopbackOrigin, _ store: Store, isOffline: Bool = false,
  role: CacheRules.Role = .privateCache, observers: [any ProxyObserver] = [],
  _ body: (UInt16) async throws -> Result
) async throws -> Result {
  let setup = NetworkSetup(connectionsPerHost: 0, proxy: .none, usesHTTP2: false)
  var options = ClientOptions(rules: CacheRules(role: role))
  options.transport.addsDefaultFields = false
  let client = CachingClient(store: store, transport: try CurlTransport(setup), options: options)
  let server = ProxyServer(
    client: client,
    options: ProxyOptions(
      listen: ListenAddress(host: "127.0.0.1", port: 0), origin: try NormalizedURL(origin.base),
      hosts: ["x", "y"], isOffline: isOffline), observers: observers)
  let address = try server.start()
  do {
    let result = try await body(address.port)
    await server.stop(grace: .zero)
    return result
  } catch {
    await server.stop(grace: .zero)
    throw error
  }
}

private func get(_ port: UInt16, _ target: String = "/", _ fields: String = "") async throws
  -> RawClient.Reading
{
  try await exchange(port, "GET \(target) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
}

@Suite("A proxy with a store", .timeLimit(.minutes(5))) struct ClientBackendTests {
  @Test func `asks the origin once, as the client asked, and answers again by itself`() async throws
  {
    let origin = try makeOrigin { _, connection in
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\nhello"
      )
    }
    try await withProxy(origin) { port in
      let first = try await get(port, "/a?b", "A: 1\r\nAccept-Encoding: br\r\n")
      let second = try await get(port, "/a?b", "A: 1\r\nAccept-Encoding: br\r\n")
      #expect(first.body == "hello")
      #expect(second.body == "hello")
      #expect(first.field("Cache-Status") == "OfflineCache; fwd=uri-miss; stored")
      #expect(second.field("Cache-Status")?.hasPrefix("OfflineCache; hit; ttl=") == true)
      #expect(second.field("Age") != nil)
      let part = try await get(port, "/a?b", "Accept-Encoding: br\r\nRange: bytes=1-2\r\n")
      #expect(part.status == 206)
      #expect(part.body == "el")
      let same = try await get(port, "/a?b", "Accept-Encoding: br\r\nIf-None-Match: \"1\"\r\n")
      #expect(same.status == 304)
      #expect(same.field("Connection") == nil)
      let head = try await exchange(
        port,
        "HEAD /a?b HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br\r\nConnection: close\r\n\r\n",
        untilClosed: true)
      #expect(head.field("Content-Length") == "5")
      #expect(head.body.isEmpty)
      #expect(origin.requests.count == 1)
      let lines = origin.requests[0].lines
      #expect(lines[0] == "GET /a?b HTTP/1.1")
      #expect(
        lines[1...].filter { !$0.hasPrefix("Via: 1.1 offlinecache-") }.sorted() == [
          "A: 1", "Accept-Encoding: br", "Forwarded: for=127.0.0.1;host=\"x\";proto=http",
          "Host: 127.0.0.1:\(origin.port)", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: x",
          "X-Forwarded-Proto: http",
        ])
    }
  }

  @Test(arguments: ["GET", "PUT"])
  func `sends a small request again that is lost on a kept connection`(method: String) async throws
  {
    let requests = Mutex(0)
    let origin = try LoopbackOrigin { request, connection in
      let body = connection.read(Int(request.value(of: "Content-Length") ?? "") ?? 0)
      let number = requests.withLock { number in
        number += 1
        return number
      }
      if number == 2 { connection.close() } else { connection.answer(body) }
    }
    try await withProxy(origin) { port in
      _ = try await get(port)
      let answer = try await exchange(
        port, "\(method) /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
      #expect(answer.status == 200 && answer.body == "hello")
    }
    #expect(origin.requests.map(\.method) == ["GET", method, method])
    #expect(origin.connections == 2)
  }

  @Test func `keeps answers apart that depend on what the origin is told of the client`()
    async throws
  {
    let origin = try makeOrigin { request, connection in
      let host = request.lines.first { $0.hasPrefix("X-Forwarded-Host") } ?? "-"
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: X-Forwarded-Host\r\n"
          + "Content-Length: \(host.utf8.count)\r\n\r\n\(host)")
    }
    try await withProxy(origin) { port in
      for host in ["x", "y", "x", "y"] {
        let reading = try await exchange(
          port, "GET / HTTP/1.1\r\nHost: \(host)\r\nX-Forwarded-Host: evil.test\r\n\r\n")
        #expect(reading.body == "X-Forwarded-Host: \(host)")
      }
      #expect(origin.requests.count == 2)
    }
  }

  @Test func `tells the origin of the client when it validates in the background`() async throws {
    let origin = try makeOrigin { request, connection in
      let isTold = request.lines.contains { $0.hasPrefix("X-Forwarded-Proto") }
      connection.send(
        "HTTP/1.1 \(isTold ? "200 OK" : "301 Moved Permanently")\r\n"
          + "Cache-Control: max-age=\(isTold ? 0 : 60), stale-while-revalidate=60\r\n"
          + "Location: https://x/\r\nContent-Length: 1\r\n\r\n1")
    }
    try await withProxy(origin) { port in
      // The validation ends in the background; until then, nobody begins another one.
      while origin.requests.count < 3, !Task.isCancelled {
        let reading = try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(reading.status == 200)
      }
      #expect(origin.requests.allSatisfy { $0.value(of: "X-Forwarded-Host") == "x" })
    }
  }

  @Test func `sends large bodies again from their file, whole and in parts`() async throws {
    let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let origin = try makeOrigin { _, connection in
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(body.count)\r\n\r\n")
      connection.send(body)
    }
    try await withProxy(origin) { port in
      for _ in 0..<3 { #expect(try await get(port).bytes.suffix(body.count) == body[...]) }
      let part = try await get(port, "/", "Range: bytes=500000-599999\r\n")
      #expect(part.status == 206)
      #expect(part.bytes.suffix(100_000) == body[500_000..<600_000])
      #expect(origin.requests.count == 1)
    }
  }

  @Test(arguments: [
    "Content-Length: 100\r\n\r\nsome", "Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n",
  ])
  func `breaks the client's transfer where the origin's breaks, and stores nothing`(
    rest: String
  ) async throws {
    let origin = try makeOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" + rest)
    }
    try await withProxy(origin) { port in
      for count in 1...2 {
        let reading = try await exchange(
          port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
        #expect(reading.status == 200)
        #expect(reading.end != .open)
        #expect(!reading.body.hasSuffix("0\r\n\r\n"))
        #expect(reading.body.utf8.count < 100)
        #expect(origin.requests.count == count)
      }
    }
  }

  @Test func `streams a body up as it comes, and back`() async throws {
    let size = 3_000_000
    let origin = try makeOrigin { request, connection in
      let body = connection.read(size)
      let sum = body.reduce(0) { ($0 + Int($1)) % 65_521 }
      let text = "\(request.lines.contains("Content-Length: \(size)")) \(body.count) \(sum)"
      connection.send("HTTP/1.1 201 Created\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }
    let body = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    try await withProxy(origin) { port in
      let reading = try await onThread {
        let client = try RawClient(port: port)
        client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
        client.send(body)
        return client.readAnswer()
      }
      #expect(reading.status == 201)
      #expect(reading.body == "true \(size) \(body.reduce(0) { ($0 + Int($1)) % 65_521 })")
    }
  }

  @Test func `passes hints and redirects on`() async throws {
    let origin = try makeOrigin { _, connection in
      connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      connection.send("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
    }
    try await withProxy(origin) { port in
      let text = try await exchange(
        port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", untilClosed: true
      ).text
      #expect(text.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nVia: 1.1 offlinecache-"))
      #expect(text.contains("\r\n\r\nHTTP/1.1 302 Found\r\n"))
      #expect(text.contains("\r\nLocation: /b\r\n"))
    }
  }

  @Test func `tells why there is no answer`() async throws {
    let origin = try makeOrigin { _, connection in
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok")
    }
    try await withProxy(origin) { port in
      _ = try await get(port, "/stored")
      origin.stop()
      let gone = try await get(port, "/other")
      #expect(gone.status == 502)
      #expect(
        gone.field("Cache-Status") == "OfflineCache; fwd=miss; detail=\"origin-cannotConnect\"")
      #expect(gone.field("Content-Type") == "text/plain; charset=utf-8")
      #expect(gone.body.hasPrefix("502: http://127.0.0.1:\(origin.port)/other: "))
      let only = try await get(port, "/other", "Cache-Control: only-if-cached\r\n")
      #expect(only.status == 504)
      #expect(only.body.contains("nothing is stored for it"))
      #expect(try await get(port, "/stored").body == "ok")
    }
  }

  @Test(
    arguments: ["max-age=60", "no-store"], ["Content-Length: 99", "Transfer-Encoding: chunked"])
  func `says in the log that it was the origin that broke off`(
    directive: String, framing: String
  ) async throws {
    let origin = try makeOrigin { _, connection in
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: \(directive)\r\n\(framing)\r\n\r\n5\r\nhello\r\n")
    }
    let folder = TemporaryFolder()
    let store = try Store(at: folder.path)
    defer { store.close() }
    let recorder = Recorder()
    let reading = try await withProxy(origin, store, observers: [recorder]) { port in
      try await exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", untilClosed: true)
    }
    #expect(reading.status == 200 && reading.end != .open)
    let record = try await recorder.records(count: 1)[0]
    #expect(!record.isComplete)
    #expect(
      record.cacheStatus?.description
        == "OfflineCache; fwd=uri-miss; detail=\"origin-truncatedBody\"")
    #expect(
      record.reason == "nothing is stored for it; the origin has failed: the body is incomplete")
  }

  @Test func `offline answers from the store alone`() async throws {
    let origin = try makeOrigin { _, connection in
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nContent-Length: 2\r\n\r\nok")
    }
    let folder = TemporaryFolder()
    let store = try Store(at: folder.path)
    defer { store.close() }
    _ = try await withProxy(origin, store) { port in try await get(port, "/stored") }
    try await withProxy(origin, store, isOffline: true) { port in
      #expect(try await get(port, "/stored").body == "ok")
      let other = try await get(port, "/other")
      #expect(other.status == 504)
      #expect(
        other.field("Cache-Status")
          == "OfflineCache; detail=\"not-stored: nothing is stored for it\"")
    }
    #expect(origin.requests.count == 1)
  }

  @Test func `shares no answer to Authorization when it is shared`() async throws {
    let origin = try makeOrigin { request, connection in
      let user = request.lines.contains("Authorization: a") ? "a" : "b"
      connection.send(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\n\r\n\(user)")
    }
    try await withProxy(origin, role: .sharedCache) { port in
      let first = try await get(port, "/", "Authorization: a\r\n")
      let second = try await get(port, "/", "Authorization: b\r\n")
      #expect(first.body == "a")
      #expect(second.body == "b")
    }
  }
}
