import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheFindTests {
  private func fields(_ vary: String, tag: String = "") -> HTTPFields {
    var fields: HTTPFields = [HTTPField("Cache-Control", "max-age=1000"), HTTPField("Vary", vary)]
    if !tag.isEmpty { fields.append(HTTPField("ETag", "\"\(tag)\"")) }
    return fields
  }

  @Test
  func `each value of a selecting field has its own response, more than 64 of them the newest 64`()
    throws
  {
    let sandbox = try CacheSandbox()
    for number in 0..<80 {
      let asked = request("/a", [HTTPField("Accept-Language", "x\(number)")])
      let body = content(10 + number, seed: UInt64(number))
      try sandbox.load(asked, head(200, fields("Accept-Language")), body, at: Int64(number))
    }
    for number in 0..<80 {
      let asked = request("/a", [HTTPField("Accept-Language", "x\(number)")])
      let served = try sandbox.served(asked, at: 100)
      let expected = number < 16 ? nil : content(10 + number, seed: UInt64(number))
      #expect(served?.body == expected, "\(number)")
    }
    #expect(try sandbox.served(request(), at: 100) == nil)
  }

  @Test func `a shared cache uses what it has stored without the fields that private names`() throws
  {
    let sandbox = try CacheSandbox(role: .sharedCache)
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "private=\"a\", max-age=1000"), HTTPField("A", "1"),
      HTTPField("B", "2"),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    let served = try #require(try sandbox.served(request()))
    #expect(served.head.fields.contains("B") && !served.head.fields.contains("A"))
  }

  @Test(arguments: ["private, max-age=1000", "private=\"a\", max-age=1000"])
  func `what a private cache has stored for its user is not there for a shared one`(
    directives: String
  ) throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", directives), HTTPField("ETag", "\"1\""), HTTPField("A", "1"),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    #expect(try sandbox.served(request())?.body == content(10))
    try sandbox.reopen(role: .sharedCache)
    for policy in CachePolicy.allCases {
      switch sandbox.decide(request(), policy: policy) {
      case .serve: Issue.record("\(policy) serves it")
      case .forward(let forwarding): #expect(!forwarding.request.hasCondition)
      case .refuse(let reason): #expect(reason == .absent)
      }
    }
  }

  @Test func `values that mean the same share a response`() throws {
    let sandbox = try CacheSandbox()
    let first = request("/a", [HTTPField("Accept-Language", "de, en;q=0.5")])
    try sandbox.load(first, head(200, fields("accept-language")), content(10))
    let other = request(
      "/a", [HTTPField("accept-language", "EN;q=0.50"), HTTPField("Accept-Language", "de")])
    #expect(try sandbox.served(other)?.body == content(10))
  }

  @Test func `of several that fit the newest is served, also within one second`() throws {
    for (dates, gap) in [([10, 20], 0), ([20, 10], 0), ([20, 20], 5)] as [([Int64], Int64)] {
      let sandbox = try CacheSandbox()
      let asked = request("/a", [HTTPField("Accept", "x")])
      for (number, date) in dates.enumerated() {
        var fields = number == 0 ? fields("Accept") : [HTTPField("Cache-Control", "max-age=1000")]
        fields.append(HTTPField("Date", HTTPDate(seconds: 1_800_000_000 + date).description))
        let received = Timestamp(nanoseconds: moment(30).nanoseconds + Int64(number) * gap)
        let forwarding = try #require(sandbox.forward(asked, at: 30))
        let times = ResponseTimes(request: received, response: received)
        guard
          case .pass(_, .yes(let plan)) = sandbox.cache.receive(
            head(200, fields), for: forwarding, times: times)
        else { throw Unexpected() }
        _ = try plan.store(content(10, seed: UInt64(number)), in: sandbox.store)
      }
      let seed: UInt64 = dates[0] > dates[1] ? 0 : 1
      #expect(try sandbox.served(asked, at: 31)?.body == content(10, seed: seed), "\(dates)")
    }
  }

  @Test func `no user of a private cache gets the answer of another one, or of nobody`() throws {
    let sandbox = try CacheSandbox()
    let users: [HTTPFields] = [
      [], [HTTPField("Authorization", "Basic QWxpY2U6c2VjcmV0")],
      [HTTPField("authorization", "Basic Qm9iOnBhc3N3b3Jk")],
    ]
    let fresh: HTTPFields = [
      HTTPField("Cache-Control", "max-age=1000"), HTTPField("ETag", "\"1\""),
    ]
    for (number, user) in users.enumerated() {
      let decision = sandbox.decide(request("/a", user))
      #expect(words(decision).hasPrefix("forward"), "\(number)")
      guard case .forward(let forwarding) = decision else { continue }
      if number > 0 { #expect(!forwarding.request.fields.contains("If-None-Match")) }
      try sandbox.load(request("/a", user), head(200, fresh), content(10, seed: UInt64(number)))
    }
    for (number, user) in users.enumerated() {
      let body = try sandbox.served(request("/a", user))?.body
      #expect(body == content(10, seed: UInt64(number)))
    }
    #expect(try sandbox.served(request("/a", [HTTPField("Authorization", "Basic x")])) == nil)
  }

  @Test func `a cache of one user finds what was stored with any token`() throws {
    let sandbox = try CacheSandbox()
    func user(_ token: String) -> HTTPRequest {
      request("/a", [HTTPField("Authorization", "Bearer \(token)")])
    }
    let fresh: HTTPFields = [HTTPField("Cache-Control", "max-age=1000")]
    try sandbox.load(user("1"), head(200, fresh), content(10))
    #expect(try sandbox.served(user("2")) == nil)
    var rules = CacheRules()
    rules.ignoresAuthorization = true
    let cache = ResponseCache(store: sandbox.store, rules: rules)
    for asked in [user("1"), user("2"), request("/a")] {
      guard case .serve = cache.decide(asked, now: moment(0)) else {
        Issue.record("it is not served")
        continue
      }
    }
    // In a shared cache it has no effect.
    rules.role = .sharedCache
    guard
      case .serve = ResponseCache(store: sandbox.store, rules: rules)
        .decide(user("2"), now: moment(0))
    else { return }
    Issue.record("a shared cache gives what is one user's")
  }

  @Test(arguments: [
    (CacheRules.Role.privateCache, 401), (.sharedCache, 401), (.privateCache, 403),
  ])
  func `the refusal of one token answers no request with another`(
    role: CacheRules.Role, status: Int
  ) throws {
    // A cache that keeps the users apart may store it.
    let sandbox = try CacheSandbox()
    let refusal = head(status, [HTTPField("Cache-Control", "public, max-age=1000")])
    #expect(try sandbox.load(request(), refusal, content(10)) == nil)
    #expect(try sandbox.served(request())?.head.status == status)
    var rules = CacheRules(role: role)
    rules.ignoresAuthorization = true
    let cache = ResponseCache(store: sandbox.store, rules: rules)
    let asked = request("/a", [HTTPField("Authorization", "Bearer right")])
    guard case .forward(let forwarding) = cache.decide(asked, now: moment(1)) else {
      Issue.record("a stored \(status) is served")
      return
    }
    let times = ResponseTimes(request: moment(1), response: moment(1))
    if case .pass(_, .no(.status(status))) = cache.receive(refusal, for: forwarding, times: times) {
      return
    }
    Issue.record("a \(status) is stored")
  }

  @Test func `a shared cache keeps nothing of a user unless the origin allows it`() throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    let user = request("/a", [HTTPField("Authorization", "Basic x")])
    let fresh: HTTPFields = [HTTPField("Cache-Control", "max-age=1000")]
    #expect(try sandbox.load(user, head(200, fresh), content(10)) == .authorization)
    let open: HTTPFields = [HTTPField("Cache-Control", "public, max-age=1000")]
    #expect(try sandbox.load(user, head(200, open), content(10)) == nil)
    #expect(try sandbox.served(request())?.body == content(10))
    let own: HTTPFields = [HTTPField("Cache-Control", "private, max-age=1000")]
    #expect(try sandbox.load(request("/b"), head(200, own), content(10)) == .privateResponse)
  }

  @Test func `no credential ever stands in a file of the store`() throws {
    let sandbox = try CacheSandbox()
    let secrets = [
      "Basic c2VjcmV0LXRva2Vu", "session=hunter2-hunter2", "key-of-a-program", "pass-in-the-url",
    ]
    let url = try NormalizedURL("http://user-in-the-url:pass-in-the-url@example.com/a")
    let fields: HTTPFields = [
      HTTPField("Authorization", secrets[0]), HTTPField("Cookie", secrets[1]),
      HTTPField("X-Api-Key", secrets[2]),
    ]
    let asked = HTTPRequest(url: url, fields: fields)
    let varied: HTTPFields = [
      HTTPField("Cache-Control", "max-age=1000"),
      HTTPField("Vary", "Cookie, Authorization, X-Api-Key"),
    ]
    try sandbox.load(asked, head(200, varied), content(100_000))
    #expect(try sandbox.served(asked)?.body == content(100_000))
    sandbox.store.close()
    let all = String(decoding: sandbox.allBytes, as: UTF8.self)
    #expect(all.contains("http://example.com/a"))
    for secret in secrets + ["hunter2", "c2VjcmV0", "user-in-the-url"] {
      #expect(!all.contains(secret), "\(secret)")
    }
    try sandbox.reopen()
    #expect(try sandbox.served(asked)?.body == content(100_000))
    let other = request("/a", [fields[0], HTTPField("Cookie", "session=other")])
    #expect(try sandbox.served(other) == nil)
  }

  @Test func `tags of other variants are offered to the origin, and a 304 may choose among them`()
    throws
  {
    let sandbox = try CacheSandbox()
    for name in ["a", "b"] {
      let asked = request("/a", [HTTPField("Accept", name)])
      let body = content(10, seed: UInt64(name.utf8.first ?? 0))
      try sandbox.load(asked, head(200, fields("Accept", tag: name)), body)
    }
    let asked = request("/a", [HTTPField("Accept", "c")])
    let forwarding = try #require(sandbox.forward(asked, policy: .protocolRules))
    let sent = try #require(forwarding.request.fields.first(named: "If-None-Match")?.text)
    #expect(sent == "\"a\", \"b\"" || sent == "\"b\", \"a\"")
    let confirmed = head(304, [HTTPField("ETag", "\"b\"")])
    guard case .validated(let serving) = sandbox.receive(confirmed, forwarding) else {
      Issue.record("the confirmed variant is not served")
      return
    }
    #expect(try Served(serving).body == content(10, seed: 98))
    guard case .again(let again) = sandbox.receive(head(304), forwarding) else {
      Issue.record("a 304 that names none of several is believed")
      return
    }
    #expect(again.request == asked)
  }

  @Test func `a page that a key selects is not confirmed for who has another one`() throws {
    let sandbox = try CacheSandbox()
    let alice = request("/a", [HTTPField("X-Api-Key", "alice")])
    try sandbox.load(alice, head(200, fields("X-Api-Key", tag: "a")), content(10))
    let bob = request("/a", [HTTPField("X-Api-Key", "bob")])
    let forwarding = try #require(sandbox.forward(bob, policy: .protocolRules))
    #expect(!forwarding.request.hasCondition)
    // Nor is the page of who has none.
    try sandbox.store.removeAll()
    try sandbox.load(request(), head(200, fields("X-Api-Key", tag: "a")), content(10))
    #expect(sandbox.forward(bob, policy: .protocolRules)?.request == bob)
  }

  @Test func `a page that the program refuses is not confirmed for another request`() throws {
    let sandbox = try CacheSandbox { _, _ in false }
    try sandbox.load(asking("de"), head(200, fields("Accept-Language", tag: "a")), content(10))
    #expect(sandbox.forward(asking("en"), policy: .protocolRules)?.request == asking("en"))
  }

  @Test func `only strong tags of whole responses are offered, and no more than eight`() throws {
    let sandbox = try CacheSandbox()
    let weak = fields("Accept-Language") + [HTTPField("ETag", "W/\"1\"")]
    try sandbox.load(asking("weak"), head(200, weak), content(10))
    let part = partFields(0...4, of: "10", [HTTPField("Vary", "Accept-Language")])
    let asked = ranged("0-4", [HTTPField("Accept-Language", "part")])
    try sandbox.load(asked, head(206, part), content(5))
    #expect(sandbox.forward(asking("en"), policy: .protocolRules)?.request == asking("en"))
    for number in 0..<10 {
      let strong = fields("Accept-Language", tag: "\(number)")
      try sandbox.load(asking("x\(number)"), head(200, strong), content(10))
    }
    let forwarding = try #require(sandbox.forward(asking("en"), policy: .protocolRules))
    let sent = forwarding.request.fields.first(named: "If-None-Match")?.text
    #expect(sent?.split(separator: ",").count == 8)
  }

  @Test func `a page was changed at its Last-Modified, otherwise at its Date`() throws {
    let sandbox = try CacheSandbox()
    #expect(sandbox.cache.lastChanged(request()) == nil)
    var fields: HTTPFields = []
    for (name, seconds) in [("Date", 20), ("Last-Modified", 10)] as [(String, Int64)] {
      fields.append(HTTPField(name, moment(seconds).date.description))
      try sandbox.load(request(), head(200, fields), content(10), at: 30)
      #expect(sandbox.cache.lastChanged(request()) == moment(seconds).date)
    }
  }

  @Test func `what is in memory is served until another response is stored in its place`() throws {
    let sandbox = try CacheSandbox(hotBytes: 1 << 20)
    for seed in 1...2 as ClosedRange<UInt64> {
      try sandbox.load(
        request(), head(200, [HTTPField("Cache-Control", "max-age=60")]), content(10, seed: seed))
      for source in [EntrySource.disk, .memory] {
        guard case .serve(let serving) = sandbox.decide(request()),
          case .bytes(let bytes, let found) = serving.variant.body
        else { throw Unexpected() }
        #expect(bytes == content(10, seed: seed) && found == source)
      }
    }
  }

  @Test func `a key that no request has does not keep the origin from confirming a page`() throws {
    let sandbox = try CacheSandbox()
    let english = request("/a", [HTTPField("Accept-Language", "en")])
    try sandbox.load(
      english, head(200, fields("Accept-Language, X-Api-Key", tag: "a")), content(10))
    let french = request("/a", [HTTPField("Accept-Language", "fr")])
    let forwarding = try #require(sandbox.forward(french, policy: .protocolRules))
    #expect(forwarding.request.hasCondition)
  }

  @Test func `what is opened must be what was found`() throws {
    let sandbox = try CacheSandbox()
    for size in [10, 100_000] {
      try sandbox.load(request(), head(200, fields("Accept")), content(size))
      try sandbox.load(
        request("/a", [HTTPField("Accept", "x")]), head(200, fields("Accept")), content(size))
      let found = sandbox.cache.find(request(), sandbox.cache.key(of: request()))
      let variant = try #require(found.matching.first)
      if variant.body != nil { Issue.record("the body is open already") }
      try sandbox.load(request(), head(200, fields("Accept")), content(size, seed: 2))
      guard case .failure = sandbox.cache.opened(variant) else {
        Issue.record("the body of another response is opened")
        continue
      }
    }
  }
}
