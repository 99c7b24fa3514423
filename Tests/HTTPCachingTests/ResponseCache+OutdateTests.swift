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
    let (tag, other) = (HTTPField("ETag", "\"1\""), HTTPField("ETag", "\"2\""))
    // The last number is the time at which the stored response becomes stale.
    let cases: [(HTTPFields, Int, Int64)] = [
      ([tag, HTTPField("Cache-Control", "max-age=1000")], 200, 1005), ([other], 200, 5),
      ([tag, HTTPField("Content-Length", "11")], 200, 5), ([other], 404, 10), ([], 200, 10),
      ([other, HTTPField("Cache-Control", "no-store")], 200, 5),
    ]
    for (fields, status, end) in cases {
      let sandbox = try CacheSandbox()
      try sandbox.load(request(), head(200, brief), content(10))
      let forwarding = try #require(sandbox.forward(request(method: "HEAD"), at: 5))
      guard case .pass(let passed, .no) = sandbox.receive(head(status, fields), forwarding, at: 5)
      else {
        Issue.record("the answer to HEAD is not handed on")
        continue
      }
      #expect(passed.status == status)
      for time in [5, 9, 1004] as [Int64] {
        let isFresh = words(sandbox.decide(request(), at: time)) == "serve"
        #expect(isFresh == (time < end), "\(fields)")
      }
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
    let times = ResponseTimes(request: moment(5), response: moment(5))
    // The second time, others may have shared the new version.
    for isNews in [true, false] {
      let other = head(200, [HTTPField("ETag", "\"2\"")])
      #expect(sandbox.cache.learn(from: other, forwarding, times) == isNews)
      #expect(isReused() == [false, false])
    }
    let outdated = try #require(sandbox.store.variants(of: key).first)
    #expect(EntryFields.responseTime(of: outdated) == moment(0) && outdated.expires == nil)
    #expect(outdated.userInfo.count { $0.name == "http-outdated" } == 1)
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

  @Test(arguments: ["HEAD", "POST"])
  func `what is in memory only is removed if it is invalid`(method: String) throws {
    let sandbox = try CacheSandbox(memoryOnlyBytes: 1 << 20)
    let forwarding = try #require(sandbox.forward(request()))
    guard case .pass(_, .yes(let plan)) = sandbox.receive(head(200, brief), forwarding) else {
      throw Unexpected()
    }
    _ = try sandbox.cache.keepInMemory(
      content(10), plan, metadata: plan.metadata, now: moment(0))
    #expect(try sandbox.served(request(), at: 5)?.body == content(10))
    let asked = try #require(sandbox.forward(request(method: method), at: 5))
    _ = sandbox.receive(head(200, [HTTPField("ETag", "\"2\"")]), asked, at: 5)
    #expect(try sandbox.served(request(), policy: .offline, at: 5) == nil)
  }

  @Test func `a HEAD after the clock was set back tells of what was stored before`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10), at: 1000)
    let forwarding = try #require(sandbox.forward(request(method: "HEAD"), at: 10))
    _ = sandbox.receive(head(200, brief), forwarding, at: 10)
    #expect(try sandbox.served(request(), at: 11)?.body == content(10))
  }

  @Test func `a HEAD tells nothing of what was stored after it was asked`() throws {
    for (time, isFresh) in [(1, false), (5, true)] as [(Int64, Bool)] {
      let sandbox = try CacheSandbox()
      let forwarding = try #require(sandbox.forward(request(method: "HEAD"), at: 1))
      try sandbox.load(request(), head(200, brief), content(10), at: time)
      let times = ResponseTimes(request: moment(1), response: moment(9))
      _ = sandbox.cache.receive(
        head(200, [HTTPField("ETag", "\"2\"")]), for: forwarding, times: times)
      #expect((try sandbox.served(request(), at: 9) != nil) == isFresh)
    }
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
    // An error says nothing, but a success does not confirm what was asked about.
    _ = sandbox.receive(head(404), forwarding, at: seconds)
    #expect((try sandbox.served(request(), at: seconds) != nil) == (seconds == 5))
    let answer = head(200, [HTTPField("Cache-Control", "max-age=100")])
    _ = sandbox.receive(answer, forwarding, at: seconds)
    guard case .forward = sandbox.decide(request(), at: seconds + 1) else { throw Unexpected() }
    let same = head(200, [HTTPField("Cache-Control", "max-age=100"), HTTPField("ETag", "\"1\"")])
    _ = sandbox.receive(same, forwarding, at: seconds)
    #expect(try sandbox.served(request(), at: seconds + 99) != nil)
  }

  @Test func `a HEAD that is for one user alone tells nothing of what is stored`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10))
    let asked = request("/a", [HTTPField("Cookie", "a=b")], method: "HEAD")
    let forwarding = try #require(sandbox.forward(asked, at: 5))
    let answer = [HTTPField("ETag", "\"2\""), HTTPField("Cache-Control", "no-store")]
    _ = sandbox.receive(head(200, HTTPFields(answer)), forwarding, at: 5)
    #expect(try sandbox.served(request(), at: 6)?.body == content(10))
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
    // What was received after the answer is still valid.
    sandbox.cache.invalidate(sandbox.cache.key(of: request("/b")), at: moment(-1))
    for policy in [CachePolicy.protocolRules, .storedOnly, .offline] {
      #expect(try sandbox.served(request(), policy: policy, at: 2) == nil)
      #expect(try sandbox.served(request("/b"), policy: policy, at: 2)?.body == content(10))
    }
  }
}
