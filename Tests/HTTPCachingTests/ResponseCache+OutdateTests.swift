import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheOutdateTests {
  private let brief: HTTPFields = [
    HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\""),
  ]

  @Test func `an answer to HEAD freshens what it describes, and makes stale what it contradicts`()
    throws
  {
    let cases: [(HTTPFields, Int, String)] = [
      ([HTTPField("ETag", "\"1\""), HTTPField("Cache-Control", "max-age=1000")], 200, "serve"),
      ([HTTPField("ETag", "\"2\"")], 200, "forward"),
      ([HTTPField("ETag", "\"1\""), HTTPField("Content-Length", "11")], 200, "forward"),
      ([HTTPField("ETag", "\"2\"")], 404, "forward"),
      ([HTTPField("ETag", "\"2\""), HTTPField("Cache-Control", "no-store")], 200, "forward"),
    ]
    for (fields, status, expected) in cases {
      let sandbox = try CacheSandbox()
      try sandbox.load(request(), head(200, brief), content(10))
      let forwarding = try #require(sandbox.forward(request(method: "HEAD"), at: 10))
      guard case .pass(let passed, .no) = sandbox.receive(head(status, fields), forwarding, at: 10)
      else {
        Issue.record("the answer to HEAD is not handed on")
        continue
      }
      #expect(passed.status == status)
      #expect(words(sandbox.decide(request(), at: 11)).hasPrefix(expected), "\(fields)")
      let served = try sandbox.served(request(), policy: .offline, at: 11)
      #expect(served?.body == content(10))
      #expect(served?.value("ETag") == "\"1\"")
    }
  }

  @Test(
    arguments: [CachePolicy.protocolRules, .reload],
    [
      ("\"1\"", 0, 10, false), ("W/\"1\"", 0, 10, false), ("\"2\"", 0, 10, true),
      (nil, 0, 10, false), (nil, 1, 10, true), (nil, nil, 11, true), (nil, nil, 10, false),
    ] as [(String?, Int64?, Int, Bool)])
  func `a part of another version makes the stored one stale`(
    policy: CachePolicy, part: (tag: String?, modified: Int64?, length: Int, isOther: Bool)
  ) throws {
    func fields(_ tag: String?, _ modified: Int64?) -> HTTPFields {
      let tag = tag.map { [HTTPField("ETag", $0)] } ?? []
      let date = modified.map { [HTTPField("Last-Modified", moment($0).date.description)] } ?? []
      return HTTPFields([HTTPField("Cache-Control", "max-age=1000")] + tag + date)
    }
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, fields("\"1\"", 0)), content(10))
    let asked = ranged("0-4", [HTTPField("Cache-Control", "no-cache")])
    let forwarding = try #require(sandbox.forward(asked, policy: policy, at: 5))
    let range = HTTPField("Content-Range", "bytes 0-4/\(part.length)")
    _ = sandbox.receive(
      head(206, fields(part.tag, part.modified) + [range]), forwarding, at: 5)
    #expect(words(sandbox.decide(request(), at: 6)).hasPrefix("forward") == part.isOther)
    // Without a network it is still there.
    #expect(try sandbox.served(request(), policy: .offline, at: 6)?.body == content(10))
  }

  @Test func `what is outdated is stale until a 304 confirms it, and keeps its times`() throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=1000"), HTTPField("ETag", "\"1\""),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    let key = sandbox.cache.key(of: request())
    func isReused() -> [Bool] {
      ([nil, 1000] as [Int64?]).map { lifetime in
        let decision = sandbox.cache.decide(request(), lifetime: lifetime, now: moment(6))
        return words(decision) == "serve"
      }
    }
    #expect(isReused() == [true, true])
    let forwarding = try #require(sandbox.forward(request(method: "HEAD"), at: 5))
    for _ in 0..<2 {
      _ = sandbox.receive(head(200, [HTTPField("ETag", "\"2\"")]), forwarding, at: 5)
    }
    #expect(isReused() == [false, false])
    // Others may have shared the new version since.
    let times = ResponseTimes(request: moment(5), response: moment(5))
    #expect(!sandbox.cache.learn(from: head(200, [HTTPField("ETag", "\"2\"")]), forwarding, times))
    let outdated = try #require(sandbox.store.variants(of: key).first)
    #expect(EntryFields.responseTime(of: outdated) == moment(0) && outdated.expires == nil)
    #expect(sandbox.cache.sharedForm(of: outdated) == nil)
    let validating = try #require(sandbox.forward(request(), policy: .protocolRules, at: 6))
    #expect(validating.request.hasCondition && !validating.mayAskOthers)
    let serving = try #require(sandbox.cache.fallback(for: validating, now: moment(6)))
    #expect(serving.ttl < 0)
    guard case .validated = sandbox.receive(head(304, fields), validating, at: 6) else {
      throw Unexpected()
    }
    #expect(isReused() == [true, true])
    let confirmed = try #require(sandbox.store.variants(of: key).first)
    #expect(sandbox.cache.sharedForm(of: confirmed) != nil)
  }

  @Test func `a HEAD after the clock was set back tells of what was stored before`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10), at: 1000)
    let forwarding = try #require(sandbox.forward(request(method: "HEAD"), at: 10))
    _ = sandbox.receive(head(200, brief), forwarding, at: 10)
    #expect(try sandbox.served(request(), at: 11)?.body == content(10))
  }

  @Test func `a HEAD tells nothing of what was stored after it was asked`() throws {
    let sandbox = try CacheSandbox()
    let asked = HTTPRequest(method: .head, url: request().url)
    let forwarding = try #require(sandbox.forward(asked, at: 1))
    try sandbox.load(request(), head(200, [HTTPField("X-Version", "2")]), content(10), at: 5)
    let times = ResponseTimes(request: moment(1), response: moment(9))
    _ = sandbox.cache.receive(
      head(200, [HTTPField("X-Version", "1")]), for: forwarding, times: times)
    let stored = try #require(sandbox.store.variants(of: "GET http://example.com/a").first)
    #expect(stored.fields.contains { $0.name == "X-Version" && $0.value == "2" })
  }

  @Test(arguments: [5, 50])
  func `a HEAD without a validator makes nothing fresher`(seconds: Int64) throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\""),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    // Once with the cache's own condition, when the response is stale.
    let asked = request("/a", [HTTPField("Cache-Control", "max-age=\(min(4, seconds))")])
    let forwarding = try #require(
      sandbox.forward(
        HTTPRequest(method: .head, url: asked.url, fields: asked.fields), policy: .protocolRules,
        at: seconds))
    #expect(forwarding.request.fields.contains("If-None-Match"))
    let answer = head(200, [HTTPField("Cache-Control", "max-age=100")])
    _ = sandbox.receive(answer, forwarding, at: seconds)
    guard case .forward = sandbox.decide(request(), at: seconds + 1) else { throw Unexpected() }
  }

  @Test func `an unsafe request that succeeds removes its target and what the answer names`() throws
  {
    let named: HTTPFields = [
      HTTPField("Location", "/location"),
      HTTPField("Content-Location", "http://example.com/content"),
      HTTPField("Vary", "Accept"),
    ]
    let cases: [(String, Int, HTTPFields, Set<String>)] = [
      ("POST", 201, named, ["/a", "/location", "/content"]), ("PUT", 204, [], ["/a"]),
      ("DELETE", 302, [], ["/a"]), ("M-NEW", 200, [], ["/a"]), ("POST", 400, named, []),
      ("POST", 500, named, []), ("OPTIONS", 200, named, []), ("HEAD", 404, named, []),
      ("POST", 200, [HTTPField("Location", "http://other.example/location")], ["/a"]),
    ]
    for (method, status, fields, expected) in cases {
      let sandbox = try CacheSandbox()
      for path in ["/a", "/location", "/content", "/b"] {
        try sandbox.load(
          request(path, [HTTPField("Accept", "x")]),
          head(200, brief + [HTTPField("Vary", "Accept")]),
          content(10))
        try sandbox.load(
          request(path), head(200, brief + [HTTPField("Vary", "Accept")]), content(9))
      }
      let forwarding = try #require(sandbox.forward(request(method: method), at: 1))
      _ = sandbox.receive(head(status, fields), forwarding, at: 1)
      for path in ["/a", "/location", "/content", "/b"] {
        let isGone = expected.contains(path)
        #expect((try sandbox.served(request(path), at: 2) == nil) == isGone, "\(method) \(path)")
        let variant = request(path, [HTTPField("Accept", "x")])
        #expect((try sandbox.served(variant, at: 2) == nil) == isGone, "\(method) \(path)")
      }
    }
  }

  @Test func `what cannot be removed from the store is not served any more`() throws {
    let sandbox = try CacheSandbox()
    for path in ["/a", "/b"] { try sandbox.load(request(path), head(200, brief), content(10)) }
    try sandbox.reopen(Options(isReadOnly: true))
    let forwarding = try #require(sandbox.forward(request(method: "POST"), at: 1))
    _ = sandbox.receive(head(204), forwarding, at: 1)
    for policy in [CachePolicy.protocolRules, .storedOnly, .offline] {
      #expect(try sandbox.served(request(), policy: policy, at: 2) == nil)
      #expect(try sandbox.served(request("/b"), policy: policy, at: 2)?.body == content(10))
    }
  }
}
