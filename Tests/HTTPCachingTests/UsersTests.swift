import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

/// What a shared cache keeps from other users.
struct UsersTests {
  private let alice = request("/a", [HTTPField("Cookie", "sid=of-alice")])
  private let brief: HTTPFields = [
    HTTPField("Cache-Control", "max-age=10"), HTTPField("ETag", "\"1\""),
  ]
  private let setting = HTTPField("Set-Cookie", "sid=of-alice")

  @Test func `a page without any field for caches is not stored when its request has a Cookie`()
    throws
  {
    let sandbox = try CacheSandbox(role: .sharedCache)
    #expect(try sandbox.load(alice, head(200), content(10)) == .cookie)
    #expect(sandbox.store.statistics.entries == 0)
    #expect(try sandbox.load(request(), head(200), content(10)) == nil)
    #expect(try sandbox.served(request(), policy: .offline) != nil)
  }

  @Test(arguments: [
    HTTPField("Cookie", "sid=of-alice"), HTTPField("Authorization", "Bearer of-alice"),
  ])
  func `what a user has asked for is not served stale to others, whatever they ask for`(
    user: HTTPField
  ) throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    var fields = brief
    fields.replace(with: HTTPField("Cache-Control", "public, max-age=10"))
    try sandbox.load(request("/a", [user]), head(200, fields), content(10))
    for _ in 0..<2 {
      #expect(try sandbox.served(request(), policy: .offline, at: 5)?.body == content(10))
      for policy in [CachePolicy.offline, .storedOnly, .storedElseLoad] {
        #expect(try sandbox.served(request(), policy: policy, at: 20) == nil)
      }
      let patient = request("/a", [HTTPField("Cache-Control", "max-stale")])
      guard case .forward(let forwarding) = sandbox.decide(patient, at: 20) else {
        throw Unexpected()
      }
      #expect(sandbox.cache.fallback(for: forwarding, now: moment(20)) == nil)
      // The next start of the program knows whose it is, too.
      try sandbox.reopen()
    }
  }

  @Test func `the cookie of a public answer or of a 304 goes to the one who has asked`() throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    var fields = brief
    fields.replace(with: HTTPField("Cache-Control", "public, max-age=10"))
    fields.append(setting)
    guard let forwarding = sandbox.forward(request()),
      case .pass(let head, .yes(let plan)) = sandbox.receive(head(200, fields), forwarding)
    else { throw Unexpected() }
    #expect(head.fields.contains("Set-Cookie"))
    _ = try plan.store(content(10), in: sandbox.store)
    #expect(
      sandbox.cache.collapsed(plan, to: request(), now: moment(0))?.fields.contains("Set-Cookie")
        == false)
    #expect(try sandbox.served(request(), at: 5)?.value("Set-Cookie") == nil)

    let again = try #require(sandbox.forward(request(), policy: .protocolRules, at: 20))
    let answer = HTTPResponseHead(status: 304, fields: fields)
    guard case .validated(let serving) = sandbox.receive(answer, again, at: 20) else {
      throw Unexpected()
    }
    #expect(try Served(serving).value("Set-Cookie") == "sid=of-alice")
    let other = try #require(
      sandbox.cache.adapted(serving, to: request(), answered: 304, now: moment(20)))
    #expect(try Served(other).value("Set-Cookie") == nil)
    #expect(try sandbox.served(request(), at: 25)?.value("Set-Cookie") == nil)
    #expect(!String(decoding: sandbox.allBytes, as: UTF8.self).contains("of-alice"))
  }

  @Test func `a 304 with a cookie that is not public is for its caller alone`() throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    try sandbox.load(request(), head(200, brief), content(10))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 20))
    var fields = brief
    fields.append(setting)
    let answer = HTTPResponseHead(status: 304, fields: fields)
    guard case .validated(let serving) = sandbox.receive(answer, forwarding, at: 20) else {
      throw Unexpected()
    }
    #expect(try Served(serving).value("Set-Cookie") == "sid=of-alice")
    #expect(sandbox.cache.adapted(serving, to: request(), answered: 304, now: moment(20)) == nil)
    #expect(words(sandbox.decide(request(), at: 21)).hasPrefix("forward"))
  }

  @Test(arguments: [true, false])
  func `a part for one user makes nothing stale for others`(isPrivate: Bool) throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    try sandbox.load(request(), head(200, brief), content(10))
    var asked = alice
    asked.fields.append(HTTPField("Range", "bytes=0-4"))
    let forwarding = try #require(sandbox.forward(asked, at: 1))
    let part: HTTPFields = [
      HTTPField("Cache-Control", isPrivate ? "private" : "public, max-age=10"),
      HTTPField("ETag", "\"2\""), HTTPField("Content-Range", "bytes 0-4/10"),
    ]
    _ = sandbox.receive(head(206, part), forwarding, at: 1)
    #expect(words(sandbox.decide(request(), at: 2)).hasPrefix(isPrivate ? "serve" : "forward"))
  }

  @Test(arguments: [true, false])
  func `a part of another version outdates the whole although it is not stored`(isMultipart: Bool)
    throws
  {
    let sandbox = try CacheSandbox(role: .privateCache)
    try sandbox.load(request(), head(200, brief), content(10))
    var asked = request()
    asked.fields.append(HTTPField("Range", isMultipart ? "bytes=0-1,5-6" : "bytes=0-4"))
    if !isMultipart { asked.fields.append(HTTPField("Cache-Control", "no-store")) }
    let forwarding = try #require(sandbox.forward(asked, policy: .reload, at: 1))
    let part: HTTPFields =
      isMultipart
      ? [HTTPField("ETag", "\"2\""), HTTPField("Content-Type", "multipart/byteranges; boundary=a")]
      : [HTTPField("ETag", "\"2\""), HTTPField("Content-Range", "bytes 0-4/10")]
    _ = sandbox.receive(head(206, part), forwarding, at: 1)
    #expect(words(sandbox.decide(request(), at: 2)).hasPrefix("forward"))
  }

  @Test func `a 304 for its caller alone is not kept in memory either`() throws {
    let sandbox = try CacheSandbox(role: .sharedCache, hotBytes: 1 << 20)
    func fields(_ tag: String) -> HTTPFields {
      [
        HTTPField("ETag", "\"\(tag)\""), HTTPField("Vary", "Accept-Language"),
        HTTPField("Cache-Control", "max-age=3600"),
      ]
    }
    for language in ["de", "en"] {
      try sandbox.load(asking(language), head(200, fields(language)), content(10))
    }
    var alice = asking("en-GB")
    alice.fields.append(HTTPField("Authorization", "Basic YTpi"))
    let forwarding = try #require(sandbox.forward(alice, policy: .protocolRules, at: 1))
    var confirmed = fields("en")
    confirmed.append(HTTPField("X-User", "alice"))
    guard case .validated(let serving) = sandbox.receive(head(304, confirmed), forwarding, at: 1)
    else { throw Unexpected() }
    #expect(try Served(serving).value("X-User") == "alice")
    for _ in 0..<2 {
      let bob = try #require(try sandbox.served(asking("en"), at: 2))
      #expect(bob.value("X-User") == nil && bob.body == content(10))
    }
  }

  @Test func `an answer that was received later stays, unless its time is in the future`() throws {
    let sandbox = try CacheSandbox()
    let forwarding = try #require(sandbox.forward(request(), at: 1))
    guard case .pass(_, .yes(let slow)) = sandbox.receive(head(200, brief), forwarding, at: 1)
    else { throw Unexpected() }
    #expect(!slow.isSuperseded(in: sandbox.store, now: moment(9)))
    try sandbox.load(request(), head(200, brief), content(10), at: 5)
    #expect(slow.isSuperseded(in: sandbox.store, now: moment(9)))
    #expect(!slow.isSuperseded(in: sandbox.store, now: moment(4)))
  }

  @Test func `a 304 to a request with a Cookie makes the answer that user's`() throws {
    let sandbox = try CacheSandbox(role: .sharedCache)
    try sandbox.load(request(), head(200, brief), content(10))
    #expect(try sandbox.served(request(), policy: .offline, at: 60) != nil)
    let forwarding = try #require(sandbox.forward(alice, policy: .protocolRules, at: 20))
    guard case .validated = sandbox.receive(head(304, brief), forwarding, at: 20) else {
      throw Unexpected()
    }
    #expect(try sandbox.served(request(), at: 25)?.body == content(10))
    #expect(try sandbox.served(request(), policy: .offline, at: 60) == nil)
  }

  @Test func `what a private cache has stored of a user is not served by a shared one`() throws {
    let sandbox = try CacheSandbox()
    try sandbox.load(request("/set"), head(200, HTTPFields(brief + [setting])), content(10))
    try sandbox.load(alice, head(200), content(10))
    try sandbox.reopen(role: .sharedCache)
    for path in ["/set", "/a"] {
      for policy in [CachePolicy.protocolRules, .offline] {
        #expect(try sandbox.served(request(path), policy: policy, at: 5) == nil)
      }
    }
    try sandbox.reopen(role: .privateCache)
    #expect(try sandbox.served(request("/set"), at: 5)?.value("Set-Cookie") == "sid=of-alice")
  }
}
