import ClientTesting
import Synchronization
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct CachingClientTests {
  private typealias Answer = ScriptedTransport.Answer

  @Test func `the first fetch asks the network, the second one the store`() async throws {
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=60"), HTTPField("Content-Type", "text/plain"),
      HTTPField(name: "X-B", value: [0xFF]), HTTPField("X-A", "1"), HTTPField("X-A", "2"),
    ]
    let sandbox = try ClientSandbox(Answer("hello", fields: fields))
    let first = try await sandbox.client.data(for: request("/a?b"))
    #expect(first.bytes == Array("hello".utf8))
    #expect(first.response.source == .network)
    #expect(first.response.reason == .absent)
    #expect(first.response.entry == nil)
    #expect(first.response.head == HTTPResponseHead(status: 200, fields: fields))
    #expect(first.response.cacheStatus.description == "OfflineCache; fwd=uri-miss; stored")
    guard case .stored(let info) = first.response.body.storing else {
      Issue.record("\(first.response.body.storing)")
      return
    }
    #expect(info.key == "GET http://example.com/a?b")
    #expect(info.length == 5)

    sandbox.clock.advance(bySeconds: 20)
    let second = try await sandbox.client.data(
      for: NormalizedURL("HTTP://Example.com:80/x/../a?b#c"))
    #expect(second.bytes == Array("hello".utf8))
    #expect(second.response.source == .disk)
    #expect(second.response.reason == nil)
    #expect(second.response.cacheStatus.description == "OfflineCache; hit; ttl=40")
    #expect(second.response.head.fields.first(named: "Age")?.text == "20")
    #expect(second.response.head.fields.all(named: "X-A").count == 2)
    #expect(second.response.entry?.digest == info.digest)
    #expect(second.response.body.storing.name == "fromStore")
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `a 304 that nobody asked for is no answer`() async throws {
    let sandbox = try ClientSandbox(Answer("", status: 304))
    await #expect(
      throws: ClientError(
        .transport(TransportError(.protocolViolation, url: request().url.string)),
        url: request().url.string)
    ) { try await sandbox.client.fetch(request()) }
  }

  @Test func `what is only remembered is read by one caller, and kept when it is read`()
    async throws
  {
    let redirect = Answer("moved", status: 302, fields: [HTTPField("Location", "/b")])
    let sandbox = try ClientSandbox(
      ScriptedTransport(redirect), ClientOptions(rules: .withHistory))
    let options = FetchOptions(maximumRedirects: 0)
    // A reader that leaves keeps nothing, and nobody waits for it.
    let left = try await sandbox.client.fetch(request("/a"), options: options)
    left.body.cancel()
    #expect(sandbox.store.statistics.entries == 0)
    async let first = sandbox.client.data(for: request("/a"), options: options)
    async let second = sandbox.client.data(for: request("/a"), options: options)
    for result in [try await first, try await second] {
      #expect(result.response.head.status == 302 && result.bytes == Array("moved".utf8))
      #expect(!result.response.cacheStatus.description.contains("stored"))
      #expect(result.response.body.storing.name == "forbidden")
    }
    var offline = options
    offline.policy = .offline
    let found = try await sandbox.client.data(for: request("/a"), options: offline)
    #expect(found.bytes == Array("moved".utf8))
    #expect(found.response.cacheStatus.description.contains("hit"))
    #expect(found.response.cacheStatus.description.contains("detail=\"history\""))
    #expect(sandbox.transport.requests.count == 3)
  }

  @Test func `an answer in the memory tier says so`() async throws {
    let transport = ScriptedTransport(Answer("x", fields: fresh()))
    let sandbox = try ClientSandbox(transport, store: Options(memoryBytes: 1 << 20))
    for _ in 0..<2 { _ = try await sandbox.client.data(for: request()) }
    #expect(try await sandbox.client.data(for: request()).response.source == .memory)
  }

  @Test func `what is in the store is answered without waiting, whatever else is not`() async throws
  {
    let sandbox = try ClientSandbox(Answer("x", fields: fresh(60)))
    #expect(sandbox.client.storedAnswer(to: request()) == nil)
    _ = try await sandbox.client.data(for: request())
    let answer = try #require(sandbox.client.storedAnswer(to: request()))
    guard case .bytes(let bytes) = answer.body.content else {
      Issue.record("\(answer.body.content)")
      return
    }
    #expect(bytes == [0x78])
    #expect(try await answer.body.next() == [0x78])
    #expect(try await answer.body.next() == nil)
    sandbox.clock.advance(bySeconds: 100)
    #expect(sandbox.client.storedAnswer(to: request()) == nil)
    let offline = FetchOptions(policy: .offline)
    #expect(sandbox.client.storedAnswer(to: request(), options: offline) != nil)
    #expect(sandbox.client.storedAnswer(to: request(method: "POST")) == nil)
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `a stored redirect is followed in the store, or handed over`() async throws {
    let transport = ScriptedTransport { request in
      guard request.url.target == "/a" else { return .success(Answer("x", fields: fresh())) }
      let fields: HTTPFields = [HTTPField("Location", "/b")]
      return .success(Answer(status: 301, fields: fields))
    }
    let sandbox = try ClientSandbox(transport)
    let offline = FetchOptions(policy: .offline)
    #expect(try await sandbox.client.data(for: request()).bytes == [0x78])
    #expect(sandbox.client.storedAnswer(to: request(), options: offline)?.url.target == "/b")
    let handedOver = FetchOptions(policy: .offline, maximumRedirects: 0)
    #expect(sandbox.client.storedAnswer(to: request(), options: handedOver)?.head.status == 301)
    try sandbox.store.remove("GET http://example.com/b")
    #expect(sandbox.client.storedAnswer(to: request(), options: offline) == nil)
  }

  @Test func `a verified large body is there as a file, and reads as it was stored`() async throws {
    let whole = pieces([300_000])
    let sandbox = try ClientSandbox(Answer(whole, fields: fresh()))
    _ = try await sandbox.client.data(for: request())
    let answer = try #require(sandbox.client.storedAnswer(to: request()))
    guard case .file(let reader, let range) = answer.body.content else {
      Issue.record("\(answer.body.content)")
      return
    }
    #expect(range == 0..<300_000)
    #expect(reader.isVerified)
    var bytes: [UInt8] = []
    while let piece = try await answer.body.next() {
      #expect(!piece.isEmpty && piece.count <= FileSource.pieceBytes)
      bytes += piece
    }
    #expect(bytes == whole[0])
  }

  @Test func `without a network what is not stored is an error that says why and what to do`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer("x", fields: fresh(1)))
    let offline = FetchOptions(policy: .offline)
    let url = request().url.string
    let error = await sandbox.outcome(request(), offline).error
    #expect(error == ClientError(.notStored(.absent), url: url))
    #expect(
      error?.description == "http://example.com/a: cannot be answered offline, because nothing is "
        + "stored for it; fetch it first, and check that it is stored")
    #expect(
      await sandbox.outcome(request(method: "POST"), offline).error
        == ClientError(.notStored(.method("POST")), url: url))
    let cached = request("/a", [HTTPField("Cache-Control", "only-if-cached")])
    #expect(await sandbox.outcome(cached).error == ClientError(.notStored(.absent), url: url))
    #expect(sandbox.transport.requests.isEmpty)
    _ = try await sandbox.client.data(for: request())
    sandbox.clock.advance(bySeconds: 100_000)
    sandbox.transport.disconnect()
    #expect(try await sandbox.client.data(for: request(), options: offline).bytes == [0x78])
  }

  @Test(
    "a server that was reached and refused, or a set-up of no use, is an error, whatever is stored",
    arguments: [
      TransportError.Code.pinMismatch, .certificate, .clientCertificate, .authoritiesFile,
      .invalidSetup, .invalidRequest,
    ])
  func refused(code: TransportError.Code) async throws {
    let sandbox = try ClientSandbox(ScriptedTransport.Answer("x", fields: fresh(10)))
    _ = try await sandbox.client.data(for: request())
    sandbox.clock.advance(bySeconds: 100)
    sandbox.transport.set { .failure(TransportError(code, url: $0.url.string)) }
    let error = await sandbox.outcome(request()).error
    let url = request().url.string
    #expect(error == ClientError(.transport(TransportError(code, url: url)), url: url))
    sandbox.transport.disconnect()
    #expect(await sandbox.outcome(request()).bytes == [0x78])
  }

  @Test
  func `a failing network is told where nothing is stored, and stepped in for where something is`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer("x", fields: fresh(10)))
    _ = try await sandbox.client.data(for: request())
    sandbox.transport.disconnect()
    sandbox.clock.advance(bySeconds: 100)
    let stale = try await sandbox.client.data(for: request())
    #expect(stale.bytes == [0x78])
    #expect(stale.response.reason == .mustValidate(.stale(by: 90)))
    #expect(
      stale.response.cacheStatus.description
        == "OfflineCache; fwd=stale; ttl=-90; detail=\"origin-cannotResolve\"")
    for (asked, policy) in [(request("/b"), CachePolicy.protocolRules), (request(), .reload)] {
      let url = asked.url.string
      let error = await sandbox.outcome(asked, FetchOptions(policy: policy)).error
      #expect(error == ClientError(.transport(TransportError(.cannotResolve, url: url)), url: url))
    }
    #expect(sandbox.store.statistics.entries == 1)
  }

  @Test func `a 304 makes a stored answer fresh again, and the body is not sent again`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer("x", fields: fresh(10, tag: "1")))
    _ = try await sandbox.client.data(for: request())
    sandbox.clock.advance(bySeconds: 100)
    sandbox.transport.answer(Answer(status: 304, fields: fresh(10, tag: "1")))
    let confirmed = try await sandbox.client.data(for: request())
    #expect(confirmed.bytes == [0x78])
    #expect(confirmed.response.head.status == 200)
    #expect(
      confirmed.response.cacheStatus.description
        == "OfflineCache; fwd=stale; fwd-status=304; ttl=10")
    #expect(try await sandbox.client.data(for: request()).response.reason == nil)
    #expect(sandbox.transport.requests.count == 2)
    let sent = sandbox.transport.requests[1].fields
    #expect(sent.first(named: "If-None-Match")?.text == "\"1\"")
  }

  @Test func `a 304 about something else is followed by a request without conditions`() async throws
  {
    let sandbox = try ClientSandbox(Answer("x", fields: fresh(10, tag: "1")))
    _ = try await sandbox.client.data(for: request())
    sandbox.clock.advance(bySeconds: 100)
    sandbox.transport.set { request in
      let isConditional = request.fields.contains("If-None-Match")
      return .success(
        isConditional
          ? Answer(status: 304, fields: fresh(10, tag: "2"))
          : Answer("y", fields: fresh(10, tag: "2")))
    }
    #expect(try await sandbox.client.data(for: request()).bytes == [0x79])
    #expect(sandbox.transport.requests.count == 3)
    #expect(try await sandbox.client.data(for: request()).bytes == [0x79])
  }

  @Test func `stale-if-error steps in for an error of the origin`() async throws {
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=10, stale-if-error=100")]
    let sandbox = try ClientSandbox(Answer("x", fields: fields))
    _ = try await sandbox.client.data(for: request())
    sandbox.transport.answer(Answer("down", status: 503))
    sandbox.clock.advance(bySeconds: 50)
    let stale = try await sandbox.client.data(for: request())
    #expect(stale.bytes == [0x78])
    #expect(stale.response.cacheStatus.forwardStatus == 503)
    sandbox.clock.advance(bySeconds: 100)
    let error = try await sandbox.client.data(for: request())
    #expect(error.bytes == Array("down".utf8))
    #expect(error.response.head.status == 503)
  }

  @Test func `what is not stored says why, and the caller gets it all the same`() async throws {
    let cases: [(Answer, HTTPRequest, NotStoredReason)] = [
      (Answer("x", fields: [HTTPField("Cache-Control", "no-store")]), request(), .noStoreResponse),
      (Answer("x", fields: [HTTPField("Vary", "*")]), request(), .varyAll),
      (Answer("x", status: 500), request(), .noExplicitFreshness(500)),
      (Answer("x", fields: fresh()), request(method: "POST"), .method("POST")),
    ]
    for (answer, asked, reason) in cases {
      let sandbox = try ClientSandbox(answer)
      let result = try await sandbox.client.data(for: asked)
      #expect(result.bytes == [0x78])
      guard case .notStored(.forbidden(reason)) = result.response.body.storing else {
        Issue.record("\(result.response.body.storing)")
        continue
      }
      #expect(sandbox.store.statistics.entries == 0)
    }
  }

  @Test func `interim answers, trailers and uploads go through`() async throws {
    var answer = Answer("x", fields: fresh())
    answer.interim = [HTTPResponseHead(status: 103, fields: [HTTPField("Link", "</x>")])]
    answer.trailers = [HTTPField("X-Sum", "1")]
    let sandbox = try ClientSandbox(answer)
    let seen = Mutex<[Int]>([])
    let options = FetchOptions(onInterim: { head in seen.withLock { $0.append(head.status) } })
    let bodies: [RequestBody?] = [
      nil, .bytes([1, 2]), .stream(length: nil, ScriptedSource([[3], [4, 5]])),
    ]
    for (number, body) in bodies.enumerated() {
      let asked = request("/\(number)", method: body == nil ? "GET" : "PUT")
      let response = try await sandbox.client.fetch(asked, body: body, options: options)
      #expect(response.body.trailers.isEmpty)
      while try await response.body.next() != nil {}
      #expect(response.body.trailers == answer.trailers)
    }
    #expect(seen.withLock { $0 } == [103, 103, 103])
    #expect(sandbox.transport.uploads == [[1, 2], [3, 4, 5]])
  }

  @Test func `two hundred fetches of different URLs at once each get and keep their own answer`()
    async throws
  {
    let transport = ScriptedTransport { .success(Answer($0.url.string, fields: fresh())) }
    let sandbox = try ClientSandbox(transport)
    for source in [ResponseSource.network, .disk] {
      let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            let asked = request("/\(number)")
            let result = try await sandbox.client.data(for: asked)
            return result.bytes != Array(asked.url.string.utf8) || result.response.source != source
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(wrong == 0)
    }
    #expect(transport.requests.count == 200)
  }
}
