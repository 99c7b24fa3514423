import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheDecideTests {
  private let fresh: HTTPFields = [
    HTTPField("Cache-Control", "max-age=60"), HTTPField("ETag", "\"1\""),
  ]

  @Test func `only-if-cached is answered from the store or not at all`() throws {
    let sandbox = try CacheSandbox()
    let asked = request("/a", [HTTPField("Cache-Control", "only-if-cached")])
    #expect(words(sandbox.decide(asked)) == "refuse: nothing is stored for it")
    try sandbox.load(request(), head(200, fresh), content(10))
    #expect(try sandbox.served(asked, at: 59)?.body == content(10))
    #expect(
      words(sandbox.decide(asked, at: 70))
        == "refuse: the stored response must be validated: it has been stale for 10 s")
  }

  @Test func `only-if-cached is not validated in the background`() throws {
    let sandbox = try CacheSandbox()
    let control = HTTPField("Cache-Control", "max-age=1, stale-while-revalidate=60")
    try sandbox.load(request(), head(200, [control, HTTPField("ETag", "\"1\"")]), content(10))
    for (fields, isValidated) in [([], true), (["only-if-cached"], false)] {
      let asked = request("/a", HTTPFields(fields.map { HTTPField("Cache-Control", $0) }))
      guard case .serve(let serving) = sandbox.decide(asked, at: 9) else { throw Unexpected() }
      #expect((serving.revalidation != nil) == isValidated)
    }
  }

  @Test func `a default response without Vary hides no fresh one that has it`() throws {
    let control = HTTPField("Cache-Control", "max-age=100")
    let vary = HTTPField("Vary", "Accept-Language")
    let german = request("/a", [HTTPField("Accept-Language", "de")])
    let sandbox = try CacheSandbox()
    try sandbox.load(german, head(200, [control, vary, HTTPField("ETag", "\"1\"")]), content(10))
    try sandbox.load(request(), head(200, [control]), content(20), at: 50)
    #expect(try sandbox.served(german, at: 60)?.body == content(10))
    #expect(try sandbox.served(request(), at: 60)?.body == content(20))
    // A stale one is no better than a newer one.
    #expect(try sandbox.served(german, at: 120)?.body == content(20))
    #expect(try sandbox.served(german, policy: .offline, at: 200)?.body == content(20))
  }

  @Test func `of several responses with Vary the newest counts, even if it is stale`() throws {
    let asked = request("/a", [HTTPField("Accept-Language", "de"), HTTPField("Accept", "x")])
    let sandbox = try CacheSandbox()
    for (vary, age, time) in [("Accept-Language", 100, 0), ("Accept", 1, 5)] {
      let fields = [HTTPField("Cache-Control", "max-age=\(age)"), HTTPField("Vary", vary)]
      try sandbox.load(asked, head(200, HTTPFields(fields)), content(10), at: Int64(time))
    }
    #expect(try sandbox.served(asked, at: 20) == nil)
  }

  @Test(arguments: [200, 404])
  func `a response without Vary replaces one that has it and the same request`(status: Int) throws {
    let control = HTTPField("Cache-Control", "max-age=100")
    let vary = HTTPField("Vary", "Accept-Language")
    let sandbox = try CacheSandbox()
    for language in ["de", "en"] {
      try sandbox.load(asking(language), head(200, [control, vary]), content(10))
    }
    try sandbox.load(asking("de"), head(status, [control]), content(20), at: 5)
    #expect(try sandbox.served(asking("de"), at: 6)?.body == content(20))
    #expect(try sandbox.served(asking("en"), at: 6)?.body == content(status == 200 ? 10 : 20))
    let forwarding = try #require(sandbox.forward(asking("de"), at: 6))
    #expect(!sandbox.cache.receivesAtOnce(head(200), for: forwarding))
  }

  @Test(arguments: [
    ("GET", 200, true), ("GET", 403, true), ("HEAD", 200, false), ("GET", 206, false),
    ("GET", 304, false), ("GET", 416, false), ("GET", 404, false), ("GET", 500, false),
  ])
  func `only an answer that changes nothing stored is received at once`(
    method: String, status: Int, isAtOnce: Bool
  ) throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    let forwarding = try #require(sandbox.forward(request(method: method)))
    let vary = HTTPField("Vary", "Accept-Language")
    #expect(sandbox.cache.receivesAtOnce(head(status, [vary]), for: forwarding) == isAtOnce)
  }

  @Test func `without Vary, a response replaces one that has it and is in memory only`() throws {
    let control = HTTPField("Cache-Control", "max-age=100")
    let vary = HTTPField("Vary", "Accept-Language")
    let sandbox = try CacheSandbox(memoryOnlyBytes: 1 << 20)
    let forwarding = try #require(sandbox.forward(asking("de")))
    guard case .pass(_, .yes(let plan)) = sandbox.receive(head(200, [control, vary]), forwarding)
    else { throw Unexpected() }
    _ = try sandbox.cache.keepInMemory(
      content(10), plan, metadata: plan.metadata, now: moment(0))
    #expect(!sandbox.cache.receivesAtOnce(head(200), for: forwarding))
    try sandbox.load(asking("de"), head(200, [control]), content(20))
    #expect(try sandbox.served(asking("de"))?.body == content(20))
  }

  @Test func `an answer to GET makes nothing stale before it is stored`() throws {
    let sandbox = try CacheSandbox()
    let control = HTTPField("Cache-Control", "max-age=100")
    try sandbox.load(request(), head(200, [control, HTTPField("ETag", "\"1\"")]), content(10))
    let forwarding = try #require(sandbox.forward(request(), at: 5))
    _ = sandbox.receive(head(200, [control, HTTPField("ETag", "\"2\"")]), forwarding, at: 5)
    #expect(try sandbox.served(request(), at: 6)?.body == content(10))
  }

  @Test func `the default response is fresh until the next one is stored`() throws {
    let control = HTTPField("Cache-Control", "max-age=100")
    let sandbox = try CacheSandbox()
    let varied: HTTPFields = [control, HTTPField("Vary", "Accept-Language")]
    try sandbox.load(asking("de"), head(200, varied), content(10))
    try sandbox.load(request(), head(200, [control]), content(20))
    let forwarding = try #require(sandbox.forward(request(), at: 5))
    _ = sandbox.receive(head(200, [control]), forwarding, at: 5)
    #expect(try sandbox.served(request(), at: 6)?.body == content(20))
  }

  @Test func `a part without Vary replaces no response that has it`() throws {
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=100"), HTTPField("Vary", "Accept-Language"),
    ]
    let sandbox = try CacheSandbox()
    try sandbox.load(asking("de"), head(200, fields), content(10))
    let asked = ranged("0-4", [HTTPField("Accept-Language", "de")])
    try sandbox.load(asked, head(206, partFields(0...4, of: "10", tag: nil)), content(5), at: 5)
    #expect(try sandbox.served(asking("de"), at: 6)?.body == content(10))
  }

  @Test(
    arguments: [
      (request(method: "POST"), false, "answers to POST are not stored"),
      (request(method: "get"), false, "answers to get are not stored"),
      (request(), true, "the request has a body"),
      (request("/a", [HTTPField("If-Match", "*")]), false, "only the origin can evaluate If-Match"),
      (
        request("/a", [HTTPField("if-unmodified-since", "x")]), false,
        "only the origin can evaluate If-Unmodified-Since"
      ),
      (
        request("/a", [HTTPField("Cache-Control", "no-store")]), false,
        "the request says no-store"
      ),
    ])
  func `a request that has nothing to do with the store says why`(
    asked: HTTPRequest, hasBody: Bool, reason: String
  ) throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, fresh), content(10))
    let decision = sandbox.decide(asked, hasBody: hasBody)
    #expect(words(decision) == "forward: \(reason)")
    guard case .forward(let forwarding) = decision else { return }
    #expect(forwarding.request == asked)
    #expect(!forwarding.isShareable)
  }

  @Test(
    arguments: [
      ("no-cache", "the request says no-cache"),
      ("max-age=5", "it is older than the request's max-age"),
      ("min-fresh=60", "it does not stay fresh for the request's min-fresh"),
    ])
  func `the request's own directives make the origin be asked`(control: String, reason: String)
    throws
  {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, fresh), content(10))
    let asked = request("/a", [HTTPField("Cache-Control", control)])
    let decision = sandbox.decide(asked, at: 10)
    #expect(words(decision) == "forward: the stored response must be validated: \(reason)")
    guard case .forward(let forwarding) = decision else { return }
    #expect(forwarding.request.fields.first(named: "If-None-Match")?.text == "\"1\"")
    #expect(forwarding.reason.forwarded == .request)
  }

  @Test(arguments: [CacheRules.Role.privateCache, .sharedCache])
  func `an answer to a request with another Host is for such requests only`(
    role: CacheRules.Role
  ) throws {
    let sandbox = try CacheSandbox(role: role)
    let other = request("/a", [HTTPField("Host", "other.example")])
    try sandbox.load(other, head(200, fresh), content(10))
    #expect(try sandbox.served(other)?.body == content(10))
    let own = [
      request(), request("/a", [HTTPField("Host", "Example.com")]),
      request("/a", [HTTPField("Host", "example.com:80")]),
    ]
    for asked in own {
      #expect(try sandbox.served(asked) == nil)
      // Its tag means something else to this host.
      let forwarding = try #require(sandbox.forward(asked, policy: .protocolRules))
      #expect(forwarding.request == asked)
      #expect(forwarding.selection != sandbox.forward(other)?.selection)
    }
    try sandbox.load(request(), head(200, fresh), content(20))
    for asked in own { #expect(try sandbox.served(asked)?.body == content(20)) }
    #expect(try sandbox.served(other)?.body == content(10))
    #expect(try sandbox.served(request("/a", [HTTPField("Host", "third.example")])) == nil)
  }

  @Test func `those that ask for the whole wait for one another, those with conditions do not`()
    throws
  {
    let sandbox = try CacheSandbox()
    let cases: [(HTTPRequest, CachePolicy, Bool)] = [
      (request(), .protocolRules, true), (request(), .storedElseLoad, true),
      (request("/a", [HTTPField("Cache-Control", "no-cache")]), .protocolRules, false),
      (request("/a", [HTTPField("Cache-Control", "max-age=0")]), .protocolRules, false),
      (request(), .reload, false), (request(), .reloadFromOrigin, false),
      (request(method: "HEAD"), .protocolRules, false),
      (request("/a", [HTTPField("Range", "bytes=0-1")]), .protocolRules, false),
      (request("/a", [HTTPField("If-None-Match", "\"9\"")]), .protocolRules, false),
      (request("/a", [HTTPField("If-Modified-Since", "x")]), .protocolRules, false),
    ]
    for (asked, policy, isShareable) in cases {
      let forwarding = try #require(sandbox.forward(asked, policy: policy))
      #expect(forwarding.isShareable == isShareable, "\(asked) \(policy)")
    }
    try sandbox.load(request(), head(200, [HTTPField("Cache-Control", "no-cache")]), content(10))
    #expect(sandbox.forward(request(), policy: .protocolRules)?.isShareable == false)
  }

  @Test func `a request tells the values of the fields that select, as far as they are known`()
    throws
  {
    let fields: HTTPFields = [HTTPField("Vary", "Accept-Language"), HTTPField("ETag", "\"1\"")]
    let sandbox = try CacheSandbox()
    try sandbox.load(asking("de"), head(200, fields), content(10))
    for language in ["de", "en"] {
      let forwarding = try #require(sandbox.forward(asking(language), policy: .protocolRules))
      let value = Array(language.utf8)
      #expect(forwarding.selection.fields == [SelectedField(name: "accept-language", value: value)])
    }
  }

  @Test func `the user's own function has the last word on what is stored`() throws {
    let sandbox = try CacheSandbox { request, head in
      request.fields.contains("X-May") && head.status == 200
        && head.fields.first(named: "ETag")?.text == "\"1\""
    }
    try sandbox.load(request(), head(200, fresh), content(10))
    #expect(
      words(sandbox.decide(request()))
        == "forward: a rule of the program refused the stored response")
    #expect(
      words(sandbox.decide(request(), policy: .offline))
        == "refuse: a rule of the program refused the stored response")
    let asked = request("/a", [HTTPField("X-May", "1")])
    #expect(try sandbox.served(asked)?.body == content(10))
  }

  @Test func `an entry that is no response, or not one of ours, is not served`() throws {
    let sandbox = try CacheSandbox()
    let key = sandbox.cache.key(of: request())
    try sandbox.store.put(content(10), for: key)
    #expect(words(sandbox.decide(request())).hasSuffix("the stored entry is no HTTP response"))
    let odd = EntryMetadata(status: 200, userInfo: [Field("http-selecting", "a b:c")])
    try sandbox.store.put(content(10), for: key, metadata: odd)
    #expect(words(sandbox.decide(request(), policy: .offline)).hasPrefix("refuse"))
    let times = [Field("http-request-time", "9223372036854775808"), Field("http-url", "::")]
    try sandbox.store.put(
      content(10), for: key, metadata: EntryMetadata(status: 200, userInfo: times))
    #expect(try sandbox.served(request(), policy: .offline)?.body == content(10))
  }

  @Test func `a 304 to the caller's own condition confirms nothing that has no validator`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, [HTTPField("Cache-Control", "max-age=1")]), content(10))
    let asked = request("/a", [HTTPField("If-None-Match", "\"mine\"")])
    guard case .forward(let forwarding) = sandbox.decide(asked, at: 10) else {
      Issue.record("what is stale is served")
      return
    }
    #expect(forwarding.request == asked)
    guard case .pass(let passed, .no(.status(304))) = sandbox.receive(head(304), forwarding) else {
      Issue.record("the 304 is not handed on")
      return
    }
    #expect(passed.status == 304)
    #expect(words(sandbox.decide(request(), at: 10)).hasPrefix("forward"))
  }

  @Test func `the caller's condition gives way to that of what is stored, and is judged by it`()
    throws
  {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=1"), HTTPField("ETag", "\"1\"")]
    try sandbox.load(request(), head(200, fields), content(10))
    for (tag, status, time) in [("\"1\"", 304, 10), ("\"0\"", 200, 20)] as [(String, Int, Int64)] {
      let asked = request("/a", [HTTPField("If-None-Match", tag)])
      let forwarding = try #require(sandbox.forward(asked, policy: .protocolRules, at: time))
      #expect(forwarding.request.fields == [HTTPField("If-None-Match", "\"1\"")])
      guard case .validated(let serving) = sandbox.receive(head(304), forwarding, at: time) else {
        Issue.record("what is confirmed is not served")
        continue
      }
      #expect(serving.head.status == status)
      #expect(try Served(serving).body == (status == 200 ? content(10) : []))
    }
  }

  @Test func `a condition that is equal to the cache's own one is not in its way`() throws {
    let date = HTTPDate(seconds: 1_700_000_000).description
    let sandbox = try CacheSandbox()
    try sandbox.load(
      request(),
      head(200, [HTTPField("Cache-Control", "max-age=1"), HTTPField("Last-Modified", date)]),
      content(10))
    let asked = request("/a", [HTTPField("If-Modified-Since", date)])
    let forwarding = try #require(sandbox.forward(asked, policy: .protocolRules, at: 10))
    guard case .validated(let serving) = sandbox.receive(head(304), forwarding, at: 10) else {
      throw Unexpected()
    }
    #expect(serving.head.status == 304)
  }

  @Test(arguments: ["GET", "HEAD"])
  func `the answer to a request with a body is not stored, and changes nothing that is`(
    method: String
  ) throws {
    let brief: HTTPFields = [HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\"")]
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10))
    let decision = sandbox.decide(request(method: method), hasBody: true, at: 60)
    guard case .forward(let forwarding) = decision else { throw Unexpected() }
    let answer = head(
      200, [HTTPField("Cache-Control", "max-age=1000"), brief[1], HTTPField("X-New", "2")])
    guard case .pass(_, .no(.requestBody)) = sandbox.receive(answer, forwarding, at: 60) else {
      throw Unexpected()
    }
    let stored = try #require(try sandbox.served(request(), policy: .offline, at: 60))
    #expect(stored.body == content(10))
    #expect(stored.value("X-New") == nil)
    #expect(words(sandbox.decide(request(), at: 60)).hasPrefix("forward"))
  }
}
