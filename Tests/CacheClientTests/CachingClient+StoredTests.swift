import ClientTesting
import Testing

@testable import CacheClient

@Suite(.timeLimit(.minutes(5)))
struct CachingClientStoredTests {
  private typealias Answer = ScriptedTransport.Answer

  private func head(_ fields: HTTPFields = fresh(), status: Int = 200) -> HTTPResponseHead {
    HTTPResponseHead(status: status, fields: fields)
  }

  @Test func `what is stored by hand answers as if it had come now, with its user info`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer("network"))
    let info = [Field("mine", "value")]
    let outcome = try sandbox.client.store(
      Array("hand".utf8), head(fresh(60, vary: "Accept-Encoding")), for: request(), userInfo: info)
    #expect(try outcome.get().key == sandbox.client.key(of: request()))
    sandbox.clock.advance(bySeconds: 20)
    let (bytes, response) = try await sandbox.client.data(for: request())
    #expect(bytes == Array("hand".utf8))
    #expect(response.source == .disk)
    #expect(response.cacheStatus.ttl == 40)
    #expect(response.entry?.userInfo.contains(info[0]) == true)
    sandbox.clock.advance(bySeconds: 100)
    #expect(try await sandbox.client.data(for: request()).bytes == Array("network".utf8))
  }

  @Test func `a closed store is named as the reason, and nothing is said to be stored`()
    async throws
  {
    let sandbox = try ClientSandbox(Answer("network", fields: fresh()))
    let stored = try await sandbox.client.fetch(request())
    #expect(stored.cacheStatus.isStored)
    _ = try await sandbox.client.wholeBody(of: stored)
    sandbox.store.close()
    for path in ["/a", "/new"] {
      let response = try await sandbox.client.fetch(request(path))
      _ = try await sandbox.client.wholeBody(of: response)
      #expect(response.source == .network && response.reason == .closed, "\(path)")
      #expect(!response.cacheStatus.isStored)
      #expect(response.body.storing.name == "failed closed")
      let error = await sandbox.outcome(request(path), FetchOptions(policy: .offline)).error
      #expect(error == ClientError(.notStored(.closed), url: request(path).url.string))
    }
  }

  @Test func `the rules say what is not stored by hand, and nothing is made invalid`() throws {
    let sandbox = try ClientSandbox(Answer())
    let client = sandbox.client
    _ = try client.store([1], head(), for: request())
    func reason(_ head: HTTPResponseHead, _ asked: HTTPRequest = request("/b")) throws -> NotStored?
    {
      guard case .failure(let reason) = try client.store([2], head, for: asked) else { return nil }
      return reason
    }
    #expect(
      try reason(head([HTTPField("Cache-Control", "no-store")])) == .forbidden(.noStoreResponse))
    #expect(try reason(head(fresh(9, vary: "*"))) == .forbidden(.varyAll))
    #expect(try reason(head(status: 304)) != nil)
    var part = fresh()
    part.append(HTTPField("Content-Range", "bytes 0-9/20"))
    guard case .forbidden(.partial) = try reason(head(part, status: 206)) else {
      Issue.record("a part that is shorter than it says is stored")
      return
    }
    #expect(
      try reason(head(), request("/a", method: "POST")) == .forbidden(.method("POST")))
    let cached = request("/b", [HTTPField("Cache-Control", "only-if-cached")])
    #expect(try reason(head(), cached) != nil)
    #expect(client.storedAnswer(to: request()) != nil)
    #expect(throws: StoreError.self) {
      try client.store(
        [1], head(), for: request(),
        userInfo: [Field("x", ByteString(bytes: [UInt8](repeating: 1, count: 2 << 20)))])
    }
  }

  @Test func `a removal keeps what is under way from being stored`() async throws {
    for prefix in [nil, "", "since", "GET http://example.com/a", "GET http://other.example/"] {
      let gate = Gate()
      var answer = Answer("late", fields: fresh())
      answer.headGate = gate
      let sandbox = try ClientSandbox(ScriptedTransport(answer))
      let task = Task { await sandbox.outcome(request()) }
      await eventually { sandbox.transport.requests.count == 1 }
      switch prefix {
      case nil: _ = try sandbox.client.remove(request())
      case "": try sandbox.client.removeAll()
      case "since": try sandbox.client.removeResponses(since: .distantPast)
      case let prefix?: try sandbox.client.remove(prefix: ByteString(prefix))
      }
      gate.open()
      #expect(await task.value.bytes == Array("late".utf8))
      let isKept = prefix?.contains("other") == true
      #expect((sandbox.client.storedAnswer(to: request()) != nil) == isKept)
    }
  }

  @Test(arguments: [10, 100_000])
  func `an answer of the network replaces what is in memory only`(length: Int) async throws {
    let body = pieces([length])[0]
    let sandbox = try ClientSandbox(Answer([body], fields: fresh()))
    let client = sandbox.client
    let info = try client.store([1], head(), for: request(), inMemoryOnly: true).get()
    #expect(client.keepsInMemoryOnly(info))
    let reload = FetchOptions(policy: .reload)
    #expect(try await client.data(for: request(), options: reload).bytes == body)
    #expect(!client.keepsInMemoryOnly(info) && client.cache.memory.contains(info) == false)
    #expect(try await client.data(for: request()).bytes == body)
    #expect(sandbox.transport.requests.count == 1)
  }

  @Test func `an older answer of the network leaves what is in memory only`() async throws {
    let gate = Gate()
    var answer = Answer([[1], [2]], fields: fresh())
    answer.gates = [1: gate]
    let sandbox = try ClientSandbox(ScriptedTransport(answer))
    let task = Task { await sandbox.outcome(request()) }
    await eventually { sandbox.transport.bodies.first?.isWaiting == true }
    sandbox.clock.advance(bySeconds: 5)
    let info = try sandbox.client.store([3], head(), for: request(), inMemoryOnly: true).get()
    gate.open()
    #expect(await task.value.bytes == [1, 2])
    #expect(sandbox.client.keepsInMemoryOnly(info))
    #expect(try await sandbox.client.data(for: request()).bytes == [3])
  }

  @Test func `a removal by time leaves what is no response`() throws {
    let sandbox = try ClientSandbox(Answer())
    _ = try sandbox.client.store([1], head(), for: request())
    try sandbox.store.put([2], for: "settings")
    try sandbox.client.removeResponses(since: .distantPast)
    #expect(sandbox.client.storedAnswer(to: request()) == nil)
    #expect(sandbox.store.info(for: "settings") != nil)
  }

  @Test func `a removal tells how many stored responses there were`() throws {
    let sandbox = try ClientSandbox(Answer())
    for language in ["de", "en"] {
      _ = try sandbox.client.store(
        [1], head(fresh(9, vary: "Accept-Language")),
        for: request("/a", [HTTPField("Accept-Language", language)]))
    }
    // As a migration from another cache leaves it.
    try sandbox.store.put([], for: "HEAD http://example.com/a")
    #expect(try sandbox.client.remove(request()) == 3)
    #expect(try sandbox.client.remove(request()) == 0)
  }
}
