import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheReceiveTests {
  private let brief: HTTPFields = [
    HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\""), HTTPField("X-Old", "1"),
    HTTPField("Content-Type", "text/plain"),
  ]
  private let confirmed = head(
    304,
    [
      HTTPField("ETag", "\"1\""), HTTPField("Cache-Control", "max-age=1000"),
      HTTPField("X-New", "2"), HTTPField("Content-Length", "5"), HTTPField("Connection", "X-Hop"),
      HTTPField("X-Hop", "1"),
    ])

  private func validated(_ receipt: Receipt) throws -> Served? {
    guard case .validated(let serving) = receipt else { return nil }
    return try Served(serving)
  }

  @Test(arguments: [10, 100_000])
  func `a 304 freshens what is stored, on disk, too`(size: Int) throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(size))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
    let served = try #require(try validated(sandbox.receive(confirmed, forwarding, at: 60)))
    #expect(served.body == content(size))
    #expect(served.head.status == 200)
    for (name, value) in [
      ("X-Old", "1"), ("X-New", "2"), ("Content-Length", "\(size)"), ("X-Hop", nil), ("Age", nil),
      ("Content-Type", "text/plain"), ("Cache-Control", "max-age=1000"),
    ] {
      #expect(served.value(name) == value, "\(name)")
    }
    for _ in 0..<2 {
      let later = try #require(try sandbox.served(request(), at: 1000))
      #expect(later.body == content(size))
      #expect(later.value("X-New") == "2")
      #expect(later.value("Age") == "940")
      #expect(sandbox.store.statistics.entries == 1)
      #expect(words(sandbox.decide(request(), at: 1060)).hasPrefix("forward"))
      try sandbox.reopen()
    }
  }

  @Test func `a 304 with Vary makes what it confirms selective`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(asking("de"), head(200, brief), content(10))
    #expect(try sandbox.served(asking("en"))?.body == content(10))
    let forwarding = try #require(sandbox.forward(asking("de"), policy: .protocolRules, at: 60))
    let answer = head(304, confirmed.fields + [HTTPField("Vary", "Accept-Language")])
    _ = try validated(sandbox.receive(answer, forwarding, at: 60))
    #expect(try sandbox.served(asking("de"), at: 61)?.body == content(10))
    #expect(try sandbox.served(asking("en"), at: 61) == nil)
  }

  @Test func `a 304 to a request for the whole freshens the parts of it`() throws {
    let sandbox = try CacheSandbox()
    for range in [0...499, 500...999] { try sandbox.loadPart(range, of: content(1000)) }
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 2000))
    let served = try validated(sandbox.receive(confirmed, forwarding, at: 2000))
    #expect(served?.body == content(1000))
    #expect(try sandbox.served(request(), at: 2001)?.body == content(1000))
  }

  @Test func `a 304 freshens what got the digest of its body meanwhile`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(100_000))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
    let entry = try #require(Array(sandbox.store.entries()).first)
    try sandbox.store.update(entry.key, variant: entry.variant) { metadata in
      metadata.bodySHA256 = [UInt8](repeating: 7, count: 32)
    }
    _ = try validated(sandbox.receive(confirmed, forwarding, at: 60))
    try sandbox.reopen()
    #expect(try sandbox.served(request(), at: 1000)?.value("X-New") == "2")
  }

  @Test func `a response that a 304 confirms is not evicted for the fields of the 304`() throws {
    let sandbox = try CacheSandbox(options: Options(limits: Limits(bytes: 4 << 20)))
    func asking(for language: String) -> HTTPRequest {
      request("/a", [HTTPField("Accept-Language", language)])
    }
    for (tag, language) in [("\"1\"", "fr"), ("\"2\"", "en")] {
      let fields: HTTPFields = [
        HTTPField("Cache-Control", "max-age=1000"), HTTPField("ETag", tag),
        HTTPField("Vary", "Accept-Language"),
      ]
      try sandbox.load(asking(for: language), head(200, fields), content(100_000))
    }
    var number = 0
    while sandbox.store.statistics.evictions == 0,
      sandbox.store.statistics.chargedBytes < 4 << 20 - 60_000
    {
      let filler = content(30_000, seed: UInt64(number) + 2)
      try sandbox.store.put(filler, for: ByteString("filler \(number)"))
      number += 1
    }
    let forwarding = try #require(
      sandbox.forward(asking(for: "de"), policy: .protocolRules, at: 60))
    #expect(forwarding.validating.count == 2)
    let answer = head(
      304, [HTTPField("ETag", "\"1\""), HTTPField("X-New", String(repeating: "x", count: 90_000))])
    let served = try #require(try validated(sandbox.receive(answer, forwarding, at: 60)))
    #expect(served.body == content(100_000))
    #expect(sandbox.store.statistics.evictions > 0)
    #expect(try sandbox.served(asking(for: "fr"), at: 60)?.value("X-New") != nil)
  }

  @Test func `a 304 about nothing that is stored makes the request go again without conditions`()
    throws
  {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
    let other = head(304, [HTTPField("ETag", "\"2\"")])
    guard case .again(let again) = sandbox.receive(other, forwarding, at: 60) else {
      Issue.record("a 304 about another response is believed")
      return
    }
    #expect(again.request == request())
    guard case .pass(_, .no(.status(304))) = sandbox.receive(other, again, at: 60) else {
      Issue.record("a 304 without conditions does not come to an end")
      return
    }
    #expect(words(sandbox.decide(request(), at: 60)).hasPrefix("forward"))
  }

  @Test func `a 304 with the strong form of a weak tag confirms, and updates nothing`() throws {
    let sandbox = try CacheSandbox()
    let weak: HTTPFields = [
      HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "W/\"1\""),
    ]
    try sandbox.load(request(), head(200, weak), content(10))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
    let served = try validated(sandbox.receive(confirmed, forwarding, at: 60))
    #expect(served?.body == content(10) && served?.value("X-New") == nil)
    #expect(words(sandbox.decide(request(), at: 60)).hasPrefix("forward"))
  }

  @Test func `what is for this hop alone is not passed on`() throws {
    let sandbox = try CacheSandbox()
    let forwarding = try #require(sandbox.forward(request()))
    let answer = head(200, [HTTPField("Connection", "X-Hop"), HTTPField("X-Hop", "1"), brief[1]])
    guard case .pass(let passed, _) = sandbox.receive(answer, forwarding) else {
      throw Unexpected()
    }
    #expect(passed.fields == [brief[1]])
  }

  @Test
  func `an entry that goes while it is validated is served from its open body, and stays gone`()
    throws
  {
    for size in [10, 100_000] {
      let sandbox = try CacheSandbox()
      try sandbox.load(request(), head(200, brief), content(size))
      let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
      try sandbox.store.remove(forwarding.key)
      let served = try validated(sandbox.receive(confirmed, forwarding, at: 60))
      #expect(served?.body == content(size))
      #expect(sandbox.store.statistics.entries == 0)
    }
  }

  @Test func `a 304 changes nothing of a response that was stored while it was on its way`() throws
  {
    for size in [10, 100_000] {
      let sandbox = try CacheSandbox()
      try sandbox.load(request(), head(200, brief), content(size))
      let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
      let newer: HTTPFields = [
        HTTPField("Cache-Control", "max-age=50"), HTTPField("ETag", "\"2\""),
      ]
      try sandbox.load(request(), head(200, newer), content(size, seed: 2), at: 60)
      let old = try validated(sandbox.receive(confirmed, forwarding, at: 61))
      #expect(old?.body == content(size))
      let served = try #require(try sandbox.served(request(), at: 62))
      #expect(served.body == content(size, seed: 2))
      #expect(served.value("ETag") == "\"2\"")
      #expect(served.value("X-New") == nil)
    }
  }

  @Test func `a store that cannot write does not keep a confirmed response from being served`()
    throws
  {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(10))
    try sandbox.reopen(Options(isReadOnly: true))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
    let served = try validated(sandbox.receive(confirmed, forwarding, at: 60))
    #expect(served?.body == content(10))
    #expect(served?.value("X-New") == "2")
    #expect(try sandbox.served(request(), at: 5)?.body == content(10))
    #expect(throws: StoreError.self) {
      try sandbox.load(request("/b"), head(200, brief), content(10))
    }
  }

  @Test func `stale-if-error serves what is stored for an error, as long as it lasts`() throws {
    let sandbox = try CacheSandbox()
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=10, stale-if-error=100"), HTTPField("ETag", "\"1\""),
    ]
    try sandbox.load(request(), head(200, fields), content(10))
    for (time, status, isStale) in [
      (50, 500, true), (50, 503, true), (109, 504, true), (110, 500, false), (50, 404, false),
    ] as [(Int64, Int, Bool)] {
      let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: time))
      switch sandbox.receive(head(status), forwarding, at: time) {
      case .stale(let serving, let told):
        #expect(isStale, "\(time) \(status)")
        #expect(told == status)
        #expect(try Served(serving).body == content(10))
      case .pass(let passed, _):
        #expect(!isStale, "\(time) \(status)")
        #expect(passed.status == status)
      default: Issue.record("\(time) \(status)")
      }
    }
  }

  @Test func `without a network what is stale is served, unless its origin forbids it`() throws {
    for (control, isServed) in [
      ("max-age=10", true), ("max-age=10, must-revalidate", false), ("no-cache", false),
    ] {
      let sandbox = try CacheSandbox()
      let fields: HTTPFields = [HTTPField("Cache-Control", control), HTTPField("ETag", "\"1\"")]
      try sandbox.load(request(), head(200, fields), content(10))
      let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 50))
      let serving = sandbox.cache.fallback(for: forwarding, now: moment(50))
      #expect((serving != nil) == isServed, "\(control)")
    }
  }

  @Test(
    arguments: [
      (head(200, [HTTPField("Cache-Control", "no-store")]), NotStoredReason.noStoreResponse),
      (head(200, [HTTPField("Vary", "*")]), .varyAll),
      (head(302), .noExplicitFreshness(302)), (head(412), .status(412)),
      (head(206, [HTTPField("Content-Range", "bytes 0-9/10")]), .partNotRequested),
    ])
  func `what the rules forbid is handed on and not stored`(
    answer: HTTPResponseHead, reason: NotStoredReason
  ) throws {
    let sandbox = try CacheSandbox()
    #expect(try sandbox.load(request(), answer, content(10)) == reason)
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test(arguments: [
    [HTTPField("Authorization", "of-alice")], [HTTPField("Cookie", "of-alice")],
  ])
  func `a confirmation that could not be stored is for its caller alone`(
    user: HTTPFields
  ) throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=0"), HTTPField("ETag", "\"1\"")]
    try sandbox.load(request(), head(200, fields), content(10))
    let forwarding = try #require(
      sandbox.forward(request("/a", user), policy: .protocolRules, at: 5))
    let answer = head(
      304,
      [
        HTTPField("Cache-Control", user.contains("Cookie") ? "private" : "max-age=100"),
        HTTPField("ETag", "\"1\""), HTTPField("Set-Cookie", "sid=of-alice"),
      ])
    guard case .validated(let serving) = sandbox.receive(answer, forwarding, at: 5) else {
      throw Unexpected()
    }
    #expect(try Served(serving).value("Set-Cookie") == "sid=of-alice")
    #expect(sandbox.cache.adapted(serving, to: request(), answered: 304, now: moment(5)) == nil)
    let stored = try #require(sandbox.store.variants(of: "GET http://example.com/a").first)
    #expect(!stored.fields.contains { $0.name == "Set-Cookie" })
    guard case .forward = sandbox.decide(request(), at: 6) else { throw Unexpected() }
  }

  @Test(arguments: [
    ("no-store", "no-store", [HTTPField]()), ("private", "private", []),
    ("Vary: *", "max-age=100", [HTTPField("Vary", "*")]),
  ])
  func `a confirmation that forbids reuse removes what it confirms`(
    name: String, directives: String, more: [HTTPField]
  ) throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    let tag = HTTPField("ETag", "\"1\"")
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=3600"), tag]
    try sandbox.load(request(), head(200, fields), content(10))
    let asked = request("/a", [HTTPField("Cache-Control", "no-cache")])
    let forwarding = try #require(sandbox.forward(asked, policy: .protocolRules, at: 5))
    let answer = head(304, HTTPFields([HTTPField("Cache-Control", directives), tag] + more))
    guard case .validated = sandbox.receive(answer, forwarding, at: 5) else { throw Unexpected() }
    guard case .forward = sandbox.decide(request(), at: 6) else { throw Unexpected() }
  }

  @Test(arguments: [10, 100_000])
  func `a confirmation that forbids reuse removes nothing newer`(size: Int) throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request(), head(200, brief), content(size))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 60))
    let newer: HTTPFields = [HTTPField("Cache-Control", "max-age=50"), HTTPField("ETag", "\"2\"")]
    try sandbox.load(request(), head(200, newer), content(size, seed: 2), at: 60)
    let answer = head(304, [HTTPField("ETag", "\"1\""), HTTPField("Cache-Control", "no-store")])
    #expect(try validated(sandbox.receive(answer, forwarding, at: 61))?.body == content(size))
    #expect(try sandbox.served(request(), at: 62)?.body == content(size, seed: 2))
  }

  @Test func `who has waited for a validation gets the answer only if it may have it`() throws {
    for size in [10, 100_000] {
      let sandbox = try CacheSandbox { request, _ in !request.fields.contains("X-No") }
      let fields: HTTPFields = [
        HTTPField("Cache-Control", "max-age=10, stale-if-error=100"), HTTPField("ETag", "\"1\""),
        HTTPField("Vary", "Accept"),
      ]
      try sandbox.load(request(), head(200, fields), content(size))
      let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 50))
      let answer = head(304, [HTTPField("ETag", "\"1\"")])
      guard case .validated(let serving) = sandbox.receive(answer, forwarding, at: 50) else {
        throw Unexpected()
      }
      let cases: [(HTTPFields, Int, Bool)] = [
        ([], 304, true), ([], 500, true), ([HTTPField("Accept", "x")], 304, false),
        ([HTTPField("Authorization", "x")], 304, false), ([HTTPField("X-No", "1")], 304, false),
        ([HTTPField("Cache-Control", "no-cache")], 304, false),
        ([HTTPField("Cache-Control", "no-cache")], 500, false),
      ]
      for (fields, status, isServed) in cases {
        let adapted = sandbox.cache.adapted(
          serving, to: request("/a", fields), answered: status, now: moment(50))
        #expect(try adapted.map { try Served($0).body } == (isServed ? content(size) : nil))
        if case .file(let own)? = adapted?.variant.body,
          case .file(let first)? = serving.variant.body
        {
          #expect(own !== first, "two answers read one file at one position")
        }
      }
      // What has become stale since is only for an error.
      for status in [304, 500] {
        let stale = sandbox.cache.adapted(
          serving, to: request(), answered: status, now: moment(70))
        #expect((stale != nil) == (status == 500))
      }
    }
  }

  @Test func `who has waited for what is being stored gets it only if it may have it`() throws {
    let sandbox = try CacheSandbox { request, _ in !request.fields.contains("X-No") }
    func plan(_ answer: HTTPResponseHead, to asked: HTTPRequest) throws -> StoringPlan {
      let forwarding = try #require(sandbox.forward(asked))
      guard case .pass(_, .yes(let plan)) = sandbox.receive(answer, forwarding) else {
        throw Unexpected()
      }
      return plan
    }
    let whole = try plan(head(200, brief + [HTTPField("Vary", "Accept")]), to: request())
    let cases: [(HTTPFields, Bool)] = [
      ([], true), ([HTTPField("Accept", "x")], false), ([HTTPField("X-No", "1")], false),
      ([HTTPField("Authorization", "x")], false), ([HTTPField("Cache-Control", "no-cache")], false),
    ]
    for (fields, isServed) in cases {
      let found = sandbox.cache.collapsed(whole, to: request("/a", fields), now: moment(5))
      #expect((found != nil) == isServed, "\(fields)")
    }
    let part = try plan(head(206, partFields(0...4)), to: ranged("0-4"))
    #expect(sandbox.cache.collapsed(part, to: request(), now: moment(5)) == nil)
  }
}
