import CacheFormat
import CacheStore
import ClientTesting
import HTTPCaching
import HTTPSemantics
import HTTPTransports
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
    for prefix in [nil, "", "GET http://example.com/a", "GET http://other.example/"] {
      let gate = Gate()
      var answer = Answer("late", fields: fresh())
      answer.headGate = gate
      let sandbox = try ClientSandbox(ScriptedTransport(answer))
      let task = Task { await sandbox.outcome(request()) }
      await eventually { sandbox.transport.requests.count == 1 }
      switch prefix {
      case nil: _ = try sandbox.client.remove(request())
      case "": try sandbox.client.removeAll()
      case let prefix?: try sandbox.client.remove(prefix: ByteString(prefix))
      }
      gate.open()
      #expect(await task.value.bytes == Array("late".utf8))
      let isKept = prefix?.contains("other") == true
      #expect((sandbox.client.storedAnswer(to: request()) != nil) == isKept)
    }
  }

  @Test func `a removal tells how many stored responses there were`() throws {
    let sandbox = try ClientSandbox(Answer())
    for language in ["de", "en"] {
      _ = try sandbox.client.store(
        [1], head(fresh(9, vary: "Accept-Language")),
        for: request("/a", [HTTPField("Accept-Language", language)]))
    }
    #expect(try sandbox.client.remove(request()) == 2)
    #expect(try sandbox.client.remove(request()) == 0)
  }
}
