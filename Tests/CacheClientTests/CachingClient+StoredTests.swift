import CacheFormat
import CacheStore
import ClientTesting
import ContentCoding
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

  @Test(arguments: [[5], [70_000], [300_000]])
  func `the bytes of a stored body are to be had at once, up to a limit`(sizes: [Int]) async throws
  {
    let body = pieces(sizes)
    let whole = Array(body.joined())
    let sandbox = try ClientSandbox(ScriptedTransport(Answer(body, fields: fresh())))
    let network = try await sandbox.client.fetch(request())
    #expect(try network.storedBytes() == nil)
    #expect(try await sandbox.client.wholeBody(of: network) == whole)
    let stored = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(try stored.storedBytes() == whole)
    #expect(try stored.storedBytes() == [])
    let again = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(throws: ClientError(.tooLarge(limit: 4), url: request().url.string)) {
      try again.storedBytes(limit: 4)
    }
    let part = request("/a", [HTTPField("Range", "bytes=1-3")])
    let range = try #require(sandbox.client.storedAnswer(to: part))
    #expect(try range.storedBytes() == Array(whole[1...3]))
  }

  @Test func `parts that belong together are one body`() async throws {
    let transport = ScriptedTransport { request in
      let first = request.fields.first(named: "Range")?.text == "bytes=0-1"
      var answer = Answer(first ? "ab" : "cd", status: 206, fields: fresh(99, tag: "x"))
      answer.fields.append(
        HTTPField("Content-Range", first ? "bytes 0-1/4" : "bytes 2-3/4"))
      return .success(answer)
    }
    let sandbox = try ClientSandbox(transport)
    for range in ["bytes=0-1", "bytes=2-3"] {
      _ = try await sandbox.client.data(for: request("/a", [HTTPField("Range", range)]))
    }
    let joined = try #require(sandbox.client.storedAnswer(to: request()))
    #expect(try joined.storedBytes(limit: 4) == Array("abcd".utf8))
  }

  @Test func `coded bodies are decoded at once, bounded by what comes out`() throws {
    // head -c 100000 /dev/zero | gzip -n9
    let start: [UInt8] = [
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00,
      0x00, 0x00, 0xc2, 0xa0, 0xf5, 0x4f, 0x6d, 0x0d, 0x0f, 0xa0,
    ]
    let end: [UInt8] = [0x80, 0x57, 0x03, 0x7d, 0x95, 0x11, 0xd4, 0xa0, 0x86, 0x01, 0x00]
    let coded = start + [UInt8](repeating: 0, count: 96) + end
    let sandbox = try ClientSandbox(Answer())
    var fields = fresh()
    fields.append(HTTPField("Content-Encoding", "gzip"))
    func answer(_ body: [UInt8]) throws -> ClientResponse {
      _ = try sandbox.client.store(body, head(fields), for: request())
      return try #require(sandbox.client.storedAnswer(to: request()))
    }
    #expect(try answer(coded).storedBytes() == [UInt8](repeating: 0, count: 100_000))
    let url = request().url.string
    #expect(throws: ClientError(.tooLarge(limit: 99_999), url: url)) {
      try answer(coded).storedBytes(limit: 99_999)
    }
    #expect(throws: ClientError(.coding(.truncated(coding: "gzip")), url: url)) {
      try answer(Array(coded.dropLast())).storedBytes()
    }
  }
}
