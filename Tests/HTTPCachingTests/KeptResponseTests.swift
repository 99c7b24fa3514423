import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

/// Responses that another cache has kept.
struct KeptResponseTests {
  /// Stores a response as a migration does.
  @discardableResult
  private func adopt(
    _ sandbox: CacheSandbox, _ request: HTTPRequest, _ fields: HTTPFields, _ body: [UInt8],
    status: Int = 200, at seconds: Int64 = 0, expires: Timestamp? = nil, userInfo: [Field] = []
  ) throws -> EntryInfo? {
    let times = ResponseTimes(request: moment(seconds), response: moment(seconds))
    let plan = sandbox.cache.adopting(
      KeptResponse(
        request: request, head: HTTPResponseHead(status: status, fields: fields), times: times,
        expires: expires, userInfo: userInfo))
    return try plan?.store(body, in: sandbox.store)
  }

  private func sent(
    _ method: HTTPMethod = .get, _ path: String = "/a", _ fields: HTTPFields = []
  ) -> HTTPRequest {
    var sent = request(path, fields)
    sent.method = method
    return sent
  }

  private let fresh: HTTPFields = [HTTPField("Cache-Control", "max-age=1000")]

  @Test func `it is served as if the cache had received it`() throws {
    let sandbox = try CacheSandbox()
    try adopt(sandbox, sent(), fresh, content(10), at: 5)
    let served = try #require(try sandbox.served(sent(), at: 100))
    #expect(served.body == content(10))
    let info = try #require(sandbox.store.entries().first { _ in true })
    #expect(EntryFields.responseTime(of: info) == moment(5))
    #expect(info.expires == moment(1005))
  }

  @Test(arguments: ["no-store", "max-age=0", "no-cache", "private", ""])
  func `what is not fresh is there for those who have no network`(directives: String) throws {
    let sandbox = try CacheSandbox()
    try adopt(sandbox, sent(), [HTTPField("Cache-Control", directives)], content(10))
    #expect(try sandbox.served(sent(), at: 100) == nil)
    guard case .serve = sandbox.decide(sent(), policy: .offline, at: 100) else {
      Issue.record("not found offline")
      return
    }
  }

  @Test func `the other cache's word counts for people, not for the rules`() throws {
    let sandbox = try CacheSandbox()
    let info = try adopt(
      sandbox, sent(), [HTTPField("Cache-Control", "max-age=1")], [1], expires: moment(9_000))
    #expect(info?.expires == moment(9_000))
    #expect(try sandbox.served(sent(), at: 100) == nil)
    guard case .serve = sandbox.decide(sent(), policy: .storedOnly, at: 100) else {
      Issue.record("not found by storedOnly")
      return
    }
  }

  @Test func `the fields of the request select`() throws {
    let sandbox = try CacheSandbox()
    let fields = HTTPFields(fresh + [HTTPField("Vary", "Accept-Language, Accept-Encoding")])
    let german = [HTTPField("Accept-Language", "de"), HTTPField("Accept-Encoding", "br")]
    try adopt(sandbox, sent(.get, "/a", HTTPFields(german)), fields, content(10))
    // A body that is not coded suits every Accept-Encoding.
    let asked = sent(.get, "/a", [HTTPField("Accept-Language", "de")])
    #expect(try sandbox.served(asked)?.body == content(10))
    #expect(try sandbox.served(sent(.get, "/a", [HTTPField("Accept-Language", "en")])) == nil)
    try adopt(
      sandbox, sent(.get, "/b", HTTPFields(german)),
      HTTPFields(fields + [HTTPField("Content-Encoding", "br")]), content(10))
    #expect(try sandbox.served(sent(.get, "/b", [HTTPField("Accept-Language", "de")])) == nil)
    #expect(try sandbox.served(sent(.get, "/b", HTTPFields(german)))?.body == content(10))
  }

  @Test func `what answers no other request is not stored`() throws {
    let sandbox = try CacheSandbox()
    #expect(try adopt(sandbox, sent(), HTTPFields(fresh + [HTTPField("Vary", "*")]), [1]) == nil)
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test func `credentials select, and are not written down`() throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [HTTPField("Authorization", "Basic c2VjcmV0")]
    let info = try #require(try adopt(sandbox, sent(.get, "/a", fields), fresh, [1]))
    #expect(!"\(info.metadata)".contains("c2VjcmV0"))
    #expect(try sandbox.served(sent()) == nil)
    #expect(try sandbox.served(sent(.get, "/a", fields))?.body == [1])
  }

  @Test func `an answer to HEAD answers HEAD alone, with the length that it told`() throws {
    let sandbox = try CacheSandbox()
    let fields = HTTPFields(fresh + [HTTPField("Content-Length", "777")])
    try adopt(sandbox, sent(.head), fields, [])
    #expect(try sandbox.served(sent()) == nil)
    guard case .serve(let serving) = sandbox.decide(sent(.head)) else {
      Issue.record("not found")
      return
    }
    #expect(serving.head.fields.first(named: "Content-Length")?.text == "777")
    #expect(serving.slices.isEmpty)
    // The answer to a GET is the better one, also when it came before.
    try adopt(sandbox, sent(), fresh, content(10))
    guard case .serve(let better) = sandbox.decide(sent(.head)) else {
      Issue.record("not found")
      return
    }
    #expect(better.head.fields.first(named: "Content-Length")?.text == "10")
  }

  @Test(arguments: ["777", "778"])
  func `an answer to HEAD freshens an older one of the same length`(length: String) throws {
    let sandbox = try CacheSandbox()
    func fields(_ seconds: Int, _ length: String) -> HTTPFields {
      [
        HTTPField("Cache-Control", "max-age=\(seconds)"), HTTPField("ETag", "\"1\""),
        HTTPField("Content-Length", length),
      ]
    }
    try adopt(sandbox, sent(.head), fields(10, "777"), [])
    let forwarding = try #require(sandbox.forward(sent(.head), at: 20))
    _ = sandbox.receive(head(200, fields(1000, length)), forwarding, at: 20)
    let isFresh = words(sandbox.decide(sent(.head), at: 21)) == "serve"
    #expect(isFresh == (length == "777"))
  }

  @Test func `an unsafe request removes the answer to HEAD, too`() throws {
    let sandbox = try CacheSandbox()
    try adopt(sandbox, sent(.head), fresh, [])
    let post = try #require(sandbox.forward(sent(HTTPMethod(rawValue: "POST"))))
    _ = sandbox.receive(HTTPResponseHead(status: 200, fields: []), post)
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test func `user info is kept, but for the names that the cache has taken`() throws {
    let sandbox = try CacheSandbox()
    let info = try #require(
      try adopt(
        sandbox, sent(), fresh, [1],
        userInfo: [Field("mine", "1"), Field("http-selecting", "cookie:x")]))
    #expect(info.userInfo.contains(Field("mine", "1")))
    #expect(!info.userInfo.contains { $0.name == "http-selecting" })
    #expect(try sandbox.served(sent())?.body == [1])
  }

  @Test func `a decision about HEAD reads what the other cache has kept for HEAD`() throws {
    let sandbox = try CacheSandbox()
    try adopt(sandbox, sent(.head), fresh, [])
    #expect(sandbox.cache.readsFiles(for: sent(.head)))
    #expect(!sandbox.cache.readsFiles(for: sent()))
  }

  @Test func `a 304 without Vary leaves an uncoded body for every request`() throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\""),
      HTTPField("Vary", "Accept-Encoding"),
    ]
    let coded = sent(.get, "/a", [HTTPField("Accept-Encoding", "gzip")])
    try adopt(sandbox, coded, fields, content(10))
    let forwarding = try #require(sandbox.forward(coded, policy: .protocolRules, at: 20))
    _ = sandbox.receive(head(304, [HTTPField("ETag", "\"1\"")]), forwarding, at: 20)
    for asked in [coded, sent()] {
      #expect(try sandbox.served(asked, at: 25)?.body == content(10))
    }
  }
}
