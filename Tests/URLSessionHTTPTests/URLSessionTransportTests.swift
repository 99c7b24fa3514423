import Foundation
import Testing
import TransportTesting

@testable import URLSessionHTTP

@Suite struct URLSessionTransportTests {
  private func refusal(
    _ setup: NetworkSetup, _ change: (inout URLSessionOptions) -> Void = { _ in }
  ) -> String? {
    var options = URLSessionOptions()
    change(&options)
    do { _ = try URLSessionTransport(setup, options: options) } catch { return error.detail }
    return nil
  }

  #if os(Linux)
    @Test func `what URLSession on Linux cannot check is refused, never left out`() throws {
      let pin = try #require(Pin(.publicKey, digest: [UInt8](repeating: 1, count: 32)))
      var setup = NetworkSetup(pins: ["h": [pin]])
      #expect(
        refusal(setup) == "URLSession on Linux does not have pins; use CurlTransport")
      setup = NetworkSetup(certificateAuthoritiesFile: "/x")
      #expect(refusal(setup)?.contains("own certificate authorities") == true)
      setup = NetworkSetup(clientCertificate: ClientCertificate(certificateFile: "/x"))
      #expect(refusal(setup)?.contains("client certificates") == true)
      setup = NetworkSetup(proxy: .url("http://p:1"))
      #expect(refusal(setup)?.contains("a proxy of its own") == true)
      #expect(refusal(NetworkSetup()) { $0.acceptsServer = { _ in true } } != nil)
      #expect(refusal(NetworkSetup()) { $0.waitsForConnectivity = true } != nil)
      #expect(refusal(NetworkSetup()) { $0.multipath = .handover } != nil)
      #expect(refusal(NetworkSetup()) { $0.allowsExpensiveNetworks = false } != nil)
    }
  #endif

  @Test func `HTTP 2 cannot be switched off, and a pin needs a host`() throws {
    #expect(refusal(NetworkSetup(usesHTTP2: false)) == "URLSession cannot switch HTTP/2 off")
    let pin = try #require(Pin(.publicKey, digest: [UInt8](repeating: 1, count: 32)))
    #expect(refusal(NetworkSetup(pins: ["h:1": [pin]]))?.contains("'h:1'") == true)
    #expect(refusal(NetworkSetup()) == nil)
  }

  @Test func `a reset forgets the cookies`() async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.answer("ok", fields: ["Set-Cookie: a=1"])
    }
    let transport = try URLSessionTransport(NetworkSetup(proxy: .none, keepsCookies: true))
    for target in ["/1", "/2"] { _ = try await transport.fetch(origin.address(target)) }
    await transport.reset()
    for target in ["/3", "/4"] { _ = try await transport.fetch(origin.address(target)) }
    #expect(origin.requests.map { $0.value(of: "Cookie") } == [nil, "a=1", nil, "a=1"])
  }

  @Test func `a coded body is returned decoded, and its head says so`() async throws {
    // The bytes of `printf hello | gzip -n`.
    let coded: [UInt8] = [
      0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10,
      0x36,
      5, 0, 0, 0,
    ]
    let origin = try LoopbackOrigin { _, connection in
      connection.answer(coded, fields: ["Content-Encoding: gzip", "ETag: \"a\""])
    }
    let transport = try URLSessionTransport()
    let (response, body) = try await transport.fetch(origin.address())
    #expect(body == "hello")
    #expect(!response.head.fields.contains("Content-Encoding"))
    #expect(!response.head.fields.contains("Content-Length"))
    #expect(response.head.fields.first(named: "ETag")?.text == "W/\"a\"")
    #expect(origin.requests.first?.value(of: "Accept-Encoding") == "identity")
  }

  #if os(Linux)
    @Test func `a 401 with Basic is an error on Linux, where it would never end`() async throws {
      let origin = try LoopbackOrigin { _, connection in
        connection.answer(
          "", status: "401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""])
      }
      let error = await (try URLSessionTransport()).failure(try origin.address())
      #expect(error?.code == .failed)
      #expect(error?.detail == "URLSession on Linux cannot return a 401 with Basic")
    }
  #endif

  @Test(arguments: ["Bearer", "Digest realm=\"r\", nonce=\"n\""])
  func `a 401 is a response like any other`(challenge: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.answer(
        "who?", status: "401 Unauthorized", fields: ["WWW-Authenticate: \(challenge)"])
    }
    let (response, body) = try await URLSessionTransport().fetch(origin.address())
    #expect(response.head.status == 401)
    #expect(response.head.fields.first(named: "WWW-Authenticate")?.text == challenge)
    #expect(body == "who?")
    #expect(origin.requests.count == 1)
  }

  @Test(
    "a redirect while an upload runs is returned", .timeLimit(.minutes(1)),
    arguments: [true, false], [true, false])
  func redirectOfUpload(readsFirst: Bool, isStream: Bool) async throws {
    let bytes = [UInt8](repeating: 1, count: 1 << 20)
    let origin = try LoopbackOrigin { _, connection in
      if readsFirst { _ = connection.read(bytes.count) }
      connection.answer("moved", status: "307 X", fields: ["Location: /elsewhere"])
      if !readsFirst { _ = connection.read(bytes.count) }
    }
    let pieces = [[UInt8]](repeating: Array(bytes.prefix(64 << 10)), count: 16)
    let response = try await URLSessionTransport().send(
      HTTPRequest(method: HTTPMethod(rawValue: "PUT"), url: origin.address()),
      body: isStream
        ? .stream(length: UInt64(bytes.count), ScriptedSource.of(pieces)) : .bytes(bytes),
      options: patient
    ) { _ in }
    #expect(response.head.status == 307)
    #expect(try await response.body.readAll() == Array("moved".utf8))
    #expect(origin.requests.map(\.target) == ["/"])
  }

  @Test(
    "a session that is invalidated ends its tasks, and the next request has a new one",
    .timeLimit(.minutes(1)))
  func invalidated() async throws {
    let origin = try LoopbackOrigin { request, connection in
      if request.target == "/ok" { return connection.answer("ok") }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
      if request.target == "/body" { connection.send("part") }
      connection.waitForClose()
    }
    let transport = try URLSessionTransport()
    let url = try origin.address("/body")
    let session = transport.session(for: url.host)
    let body = try await transport.send(HTTPRequest(url: url), options: patient).body
    #expect(try await body.next() == Array("part".utf8))
    session.invalidateAndCancel()
    let error = await #expect(throws: TransportError.self) { try await body.next() }
    #expect(error == TransportError(.truncatedBody, url: url.string))
    await eventually { transport.session(for: url.host) !== session }
    #expect(try await transport.fetch(origin.address("/ok")).body == "ok")
  }

  @Test(
    "a body that is cut is an error, never a short body",
    arguments: [
      "Content-Length: 10\r\n\r\nfive.", "Content-Length: 10\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
      "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
      "Transfer-Encoding: chunked\r\n\r\nxyz\r\nabcde\r\n0\r\n\r\n",
    ])
  func cuts(rest: String) async throws {
    let origin = try LoopbackOrigin { _, connection in
      connection.send("HTTP/1.1 200 OK\r\n" + rest)
      connection.close()
    }
    let url = try origin.address()
    #expect(
      await (try URLSessionTransport()).failure(url)
        == TransportError(.truncatedBody, url: url.string))
  }

  /// Fetches, cancels every second time at some moment, and returns how that ended.
  private static func fetch(
    _ place: Int, _ origin: LoopbackOrigin, _ transport: URLSessionTransport
  ) async -> String {
    let task = Task { () -> String in
      do {
        let body = try await transport.fetch(origin.address("/\(place)")).body
        return body == "/\(place)" ? "right" : "wrong"
      } catch {
        return (error as? TransportError)?.code.rawValue ?? "\(error)"
      }
    }
    if place % 2 == 1 {
      for _ in 0..<(place % 50) { await Task.yield() }
      task.cancel()
    }
    return await task.value
  }

  @Test(
    "the file of a download task is passed on at the pace of its reader", .timeLimit(.minutes(5)))
  func downloadTask() async throws {
    let body = [UInt8](repeating: 7, count: 3 << 20)
    let origin = try LoopbackOrigin { request, connection in
      if request.target == "/cut" {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive.")
        return connection.close()
      }
      connection.answer(request.target == "/none" ? [] : body, fields: ["X: y"])
    }
    let setup = NetworkSetup(bufferBytes: 256 << 10, proxy: .none)
    let transport = try URLSessionTransport(setup, URLSessionOptions(), downloads: true)
    let started = try transport.start(
      HTTPRequest(url: origin.address("/all")), nil, patient, { _ in })
    let head = try await started.transfer.head().get()
    #expect(head.head.fields.first(named: "X")?.text == "y")
    // The file waits for its reader.
    await eventually { started.transfer.isPaused }
    #expect(try await started.readAll() == body)
    #expect(started.transfer.largestBuffer <= 320 << 10)

    #expect(try await transport.fetch(origin.address("/none")).body.isEmpty)
    #expect(await transport.failure(try origin.address("/cut")) != nil)
    let error = await transport.failure(try origin.address(), method: HTTPMethod(rawValue: "PUT"))
    #expect(error?.code == .invalidRequest)

    let cancelled = try transport.start(
      HTTPRequest(url: origin.address("/all")), nil, patient, { _ in })
    _ = try await cancelled.transfer.head().get()
    cancelled.cancel()
    await #expect(throws: TransportError.self) { try await cancelled.readAll() }
  }

  /// `OFFLINECACHE_TEST_REQUESTS` is the number of requests, 4,000 by default.
  @Test("each of many requests ends once, cancelled or not", .timeLimit(.minutes(20)))
  func manyRequests() async throws {
    let origin = try LoopbackOrigin { request, connection in connection.answer(request.target) }
    let transport = try URLSessionTransport()
    let rounds =
      (ProcessInfo.processInfo.environment["OFFLINECACHE_TEST_REQUESTS"].flatMap { Int($0) }
        ?? 4_000) / 100
    let count = 100 * rounds
    var ends = [String: Int]()
    for round in 0..<rounds {
      await withTaskGroup(of: String.self) { group in
        for place in (round * 100)..<(round * 100 + 100) {
          group.addTask { await Self.fetch(place, origin, transport) }
        }
        for await end in group { ends[end, default: 0] += 1 }
      }
    }
    #expect(ends.values.reduce(0, +) == count)
    #expect(Set(ends.keys).isSubset(of: ["right", "cancelled"]), "\(ends)")
    #expect(ends["right", default: 0] >= count / 2)
  }
}
