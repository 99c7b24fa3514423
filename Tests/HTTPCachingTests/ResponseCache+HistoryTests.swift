import CacheFormat
import CacheStore
import Foundation
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheHistoryTests {
  private func redirect(_ target: String, _ fields: HTTPFields = []) -> HTTPResponseHead {
    var all = fields
    all.append(HTTPField("Location", target))
    return head(302, all)
  }

  private func page(_ directives: String = "max-age=10") -> HTTPResponseHead {
    head(200, [HTTPField("Cache-Control", directives)])
  }

  private func isHistory(_ sandbox: CacheSandbox, _ request: HTTPRequest) -> Bool? {
    guard case .serve(let serving) = sandbox.decide(request, policy: .offline, at: 100)
    else { return nil }
    return serving.isHistory
  }

  @Test(arguments: [302, 303, 307])
  func `a temporary redirect is there without a network, and only then`(status: Int) throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    var answer = redirect("/b")
    answer.status = status
    #expect(
      try sandbox.load(request("/a"), answer, content(10)) == .noExplicitFreshness(status))
    for policy in CachePolicy.allCases where policy != .offline {
      switch sandbox.decide(request("/a"), policy: policy, at: 100) {
      case .serve: Issue.record("\(policy) serves it")
      case .forward(let forwarding): #expect(!forwarding.request.hasCondition)
      case .refuse: break
      }
    }
    let served = try sandbox.served(request("/a"), policy: .offline, at: 100)
    #expect(served?.head.status == status && served?.body == content(10))
    #expect(isHistory(sandbox, request("/a")) == true)
  }

  @Test func `without the option, or in a shared cache, nothing is remembered`() throws {
    for sandbox in [
      try CacheSandbox(), try CacheSandbox(role: .sharedCache, keepsHistory: true),
    ] {
      try sandbox.load(request("/a"), redirect("/b"), [])
      #expect(sandbox.store.statistics.entries == 0)
    }
    // Nor does it use what another program has remembered.
    let sandbox = try CacheSandbox(keepsHistory: true)
    try sandbox.load(request("/a"), redirect("/b"), [])
    try sandbox.reopen(role: .sharedCache)
    #expect(try sandbox.served(request("/a"), policy: .offline) == nil)
  }

  @Test(arguments: [404, 410])
  func `the last good response stays beside a 404 or 410`(status: Int) throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    let long = content(100_000, seed: 3)
    try sandbox.load(request("/a"), page(), content(10))
    try sandbox.load(request("/long"), page(), long)
    for path in ["/a", "/long"] {
      let gone = head(status, [HTTPField("Cache-Control", "max-age=1000")])
      #expect(try sandbox.load(request(path), gone, content(3), at: 50) == nil)
      // Online, the 404 is fresh.
      #expect(try sandbox.served(request(path), at: 60)?.head.status == status)
      #expect(isHistory(sandbox, request(path)) == true)
    }
    #expect(try sandbox.served(request("/a"), policy: .offline, at: 60)?.body == content(10))
    #expect(try sandbox.served(request("/long"), policy: .offline, at: 60)?.body == long)
    // What comes after it counts again.
    try sandbox.load(request("/a"), page(), content(20), at: 70)
    #expect(try sandbox.served(request("/a"), policy: .offline, at: 80)?.body == content(20))
    #expect(isHistory(sandbox, request("/a")) == false)
  }

  @Test func `a 410 after a 404 does not take the last good response from the history`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    for (number, answer) in [page(), head(404), head(410)].enumerated() {
      try sandbox.load(request("/a"), answer, content(10 + number), at: Int64(number))
    }
    #expect(try sandbox.served(request("/a"), policy: .offline)?.body == content(10))
  }

  @Test func `a page that is confirmed for its own client is not remembered beside itself`() throws
  {
    let sandbox = try CacheSandbox(keepsHistory: true)
    let fields: HTTPFields = [HTTPField("ETag", "\"1\"")]
    try sandbox.load(request(), head(200, fields), content(10))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules, at: 5))
    guard case .validated = sandbox.receive(head(304, fields), forwarding, at: 5) else {
      throw Unexpected()
    }
    #expect(sandbox.store.statistics.entries == 1)
  }

  @Test func `a 404 that nothing good preceded is itself there without a network`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    try sandbox.load(request("/a"), head(404, []), content(3))
    #expect(try sandbox.served(request("/a"), policy: .offline)?.head.status == 404)
  }

  @Test func `the history pushes out what may be reused only up to its share`() throws {
    let sandbox = try CacheSandbox(
      keepsHistory: true, options: Options(limits: Limits(entries: 40)))
    for number in 0..<40 { try sandbox.load(request("/page\(number)"), page(), content(9)) }
    for number in 0..<80 { try sandbox.load(request("/old\(number)"), redirect("/"), content(9)) }
    sandbox.store.waitUntilIdle()
    func count(_ prefix: String, _ numbers: Range<Int>) throws -> Int {
      try numbers.filter {
        try sandbox.served(request("\(prefix)\($0)"), policy: .offline) != nil
      }.count
    }
    let pages = try count("/page", 0..<40)
    let old = try count("/old", 0..<80)
    #expect(pages >= 27)
    // The share of 10 holds when something has to be evicted. That leaves 38 entries, so two more may
    // come.
    #expect((5...12).contains(old), "\(pages) pages, \(old) old")
    #expect(isHistory(sandbox, request("/old79")) == true, "the last one stays")
  }

  @Test func `a redirect does not hide a page that was stored before`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    try sandbox.load(request("/a"), page(), content(10))
    try sandbox.load(request("/a"), redirect("/login"), [], at: 50)
    #expect(try sandbox.served(request("/a"), policy: .offline, at: 60)?.body == content(10))
  }

  @Test(arguments: ["no-cache", "max-age=1, must-revalidate"])
  func `the history is no substitute for a newer answer that has to be validated`(
    directives: String
  ) throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    for answer in [redirect("/login"), page(), head(404, [])] {
      try sandbox.load(request("/a"), answer, content(3))
    }
    try sandbox.load(request("/a"), page(directives), content(10), at: 50)
    guard case .forward(let forwarding) = sandbox.decide(request("/a"), at: 100) else {
      Issue.record("it is not validated")
      return
    }
    #expect(sandbox.cache.fallback(for: forwarding, now: moment(100)) == nil)
    #expect(try sandbox.served(request("/a"), policy: .offline, at: 100)?.body == content(10))
  }

  @Test func `no-store is kept only if that is asked for`() throws {
    for keepsNoStore in [false, true] {
      let sandbox = try CacheSandbox(keepsHistory: true, keepsNoStore: keepsNoStore)
      try sandbox.load(request("/a"), page("no-store"), content(10))
      let found = try sandbox.served(request("/a"), policy: .offline)
      #expect(found?.body == (keepsNoStore ? content(10) : nil))
      #expect(try sandbox.served(request("/a"), policy: .storedOnly) == nil)
    }
  }

  @Test func `of a response that varies with everything, the last one is there`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    let fields: HTTPFields = [HTTPField("Vary", "*"), HTTPField("Cache-Control", "max-age=10")]
    for number in 1...2 {
      #expect(
        try sandbox.load(request("/a"), head(200, fields), content(number), at: Int64(number))
          == .varyAll)
    }
    #expect(try sandbox.served(request("/a"), policy: .offline)?.body == content(2))
  }

  @Test(arguments: [[0, 5], [5, 0]] as [[Int64]])
  func `of several responses in the history the newest is there`(times: [Int64]) throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    for (vary, time) in zip([[HTTPField("Vary", "Accept-Language")], []], times) {
      try sandbox.load(asking("de"), redirect("/\(time)", HTTPFields(vary)), [], at: time)
    }
    let served = try sandbox.served(asking("de"), policy: .offline, at: 9)
    #expect(served?.value("Location") == "/5")
  }

  @Test func `what one user has seen another one does not get`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    let one = request("/a", [HTTPField("Authorization", "Bearer one")])
    let two = request("/a", [HTTPField("Authorization", "Bearer two")])
    try sandbox.load(one, redirect("/of-one"), [])
    #expect(try sandbox.served(one, policy: .offline)?.head.status == 302)
    #expect(try sandbox.served(two, policy: .offline) == nil)
    try sandbox.load(one, head(200, [HTTPField("Vary", "*")]), content(5))
    #expect(try sandbox.served(two, policy: .offline) == nil)
  }

  @Test func `when the origin cannot be reached, the history answers`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    try sandbox.load(request("/a"), redirect("/b"), [])
    for policy in [CachePolicy.protocolRules, .storedElseLoad] {
      let forwarding = try #require(sandbox.forward(request("/a"), policy: policy, at: 9))
      let serving = try #require(sandbox.cache.fallback(for: forwarding, now: moment(10)))
      #expect(serving.isHistory && serving.head.status == 302)
    }
    // It goes before a stale 404.
    try sandbox.load(request("/gone"), page(), content(10))
    try sandbox.load(request("/gone"), head(404), content(3), at: 5)
    let gone = try #require(sandbox.forward(request("/gone"), policy: .protocolRules, at: 90))
    #expect(sandbox.cache.fallback(for: gone, now: moment(90))?.head.status == 200)
    let validated = try #require(sandbox.forward(request("/a"), policy: .revalidate, at: 9))
    #expect(sandbox.cache.fallback(for: validated, now: moment(10)) == nil)
    let asked = request("/a", [HTTPField("Cache-Control", "no-cache")])
    let noCache = try #require(sandbox.forward(asked, policy: .protocolRules, at: 9))
    #expect(sandbox.cache.fallback(for: noCache, now: moment(10)) == nil)
  }

  @Test(arguments: ["no-cache", "max-age=1, must-revalidate"], [true, false])
  func `what demands the origin's consent is there only if no network is allowed`(
    directives: String, isReplaced: Bool
  ) throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    let fields: HTTPFields = [HTTPField("Cache-Control", directives)]
    if isReplaced {
      try sandbox.load(request("/a"), page(directives), content(10))
      try sandbox.load(request("/a"), head(404, []), content(3), at: 5)
    } else {
      let vary: HTTPFields = [fields[0], HTTPField("Vary", "*")]
      try sandbox.load(request("/a"), head(200, vary), content(10))
    }
    let forwarding = try #require(sandbox.forward(request("/a"), policy: .protocolRules, at: 90))
    let serving = sandbox.cache.fallback(for: forwarding, now: moment(100))
    // Of a 404 that replaced it, a stale copy may be served.
    #expect(serving?.head.status == (isReplaced ? 404 : nil))
    #expect(try sandbox.served(request("/a"), policy: .offline, at: 100)?.body == content(10))
  }

  @Test(arguments: [10, 100_000])
  func `a page that was confirmed for another client is there for it without a network`(
    length: Int
  ) throws {
    let fields: HTTPFields = [HTTPField("Vary", "Accept-Language"), HTTPField("ETag", "\"1\"")]
    for keepsHistory in [true, false] {
      let sandbox = try CacheSandbox(keepsHistory: keepsHistory)
      try sandbox.load(asking("de"), head(200, fields), content(length))
      for time in [5, 6] as [Int64] {
        let forwarding = try #require(
          sandbox.forward(asking("en"), policy: .protocolRules, at: time))
        guard case .validated = sandbox.receive(head(304, fields), forwarding, at: time) else {
          throw Unexpected()
        }
        // Online it is not reused.
        #expect(try sandbox.served(asking("en"), at: time + 1) == nil)
      }
      let english = try sandbox.served(asking("en"), policy: .offline, at: 9)
      #expect(english?.body == (keepsHistory ? content(length) : nil))
      #expect(try sandbox.served(asking("de"), policy: .offline, at: 9)?.body == content(length))
      #expect(try sandbox.served(asking("fr"), policy: .offline, at: 9) == nil)
      #expect(sandbox.store.statistics.entries == (keepsHistory ? 2 : 1))
    }
  }

  @Test(arguments: [10, 100_000])
  func `a confirmed page is not remembered with the bytes of the one that has replaced it`(
    length: Int
  ) throws {
    func fields(_ tag: String) -> HTTPFields {
      [HTTPField("Vary", "Accept-Language"), HTTPField("ETag", "\"\(tag)\"")]
    }
    let sandbox = try CacheSandbox(keepsHistory: true)
    try sandbox.load(asking("de"), head(200, fields("1")), content(length))
    let forwarding = try #require(sandbox.forward(asking("en"), policy: .protocolRules, at: 5))
    try sandbox.load(asking("de"), head(200, fields("2")), content(length, seed: 2), at: 6)
    guard case .validated(let serving) = sandbox.receive(head(304, fields("1")), forwarding, at: 7)
    else { throw Unexpected() }
    #expect(try Served(serving).body == content(length))
    #expect(try sandbox.served(asking("en"), policy: .offline, at: 9) == nil)
    #expect(sandbox.store.statistics.entries == 1)
  }

  @Test(arguments: [false, true])
  func `a page whose 304 or request has no-store is written only where that is allowed`(
    keepsNoStore: Bool
  ) throws {
    let fields: HTTPFields = [HTTPField("Vary", "Accept-Language"), HTTPField("ETag", "\"1\"")]
    let noStore = HTTPField("Cache-Control", "no-store")
    // What one user is answered does not remove what is stored.
    for (more, answer) in [
      ([HTTPField("Cookie", "a=b")], HTTPFields(Array(fields) + [noStore])), ([noStore], fields),
    ] {
      let sandbox = try CacheSandbox(keepsHistory: true, keepsNoStore: keepsNoStore)
      try sandbox.load(
        request("/a", [HTTPField("Accept-Language", "de")]), head(200, fields), content(10))
      let asked = request("/a", HTTPFields([HTTPField("Accept-Language", "en")] + more))
      let forwarding = try #require(sandbox.forward(asked, policy: .revalidate, at: 5))
      guard case .validated = sandbox.receive(head(304, answer), forwarding, at: 5) else {
        throw Unexpected()
      }
      #expect(sandbox.store.statistics.entries == (keepsNoStore ? 2 : 1))
    }
  }

  @Test(arguments: [20_000, 100_000])
  func `without a network, what the history has replaces a damaged page at once`(
    length: Int
  ) throws {
    let sandbox = try CacheSandbox(keepsHistory: true, options: Options(settling: .atOnce))
    try sandbox.load(request("/a"), redirect("/b"), [])
    try sandbox.load(request("/a"), page(), content(length), at: 5)
    #expect(isHistory(sandbox, request("/a")) == false)
    let body = try #require(
      sandbox.bodies.first { FileManager.default.contents(atPath: $0)?.count == length })
    try Data().write(to: URL(fileURLWithPath: body))
    for _ in 0..<2 { #expect(isHistory(sandbox, request("/a")) == true) }
  }

  @Test func `with a network, a damaged page is asked for again`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true, options: Options(settling: .atOnce))
    try sandbox.load(request("/a"), redirect("/b"), [])
    try sandbox.load(request("/a"), page(), content(20_000), at: 5)
    for body in sandbox.bodies { try Data().write(to: URL(fileURLWithPath: body)) }
    #expect(words(sandbox.decide(request("/a"), at: 6)).hasPrefix("forward"))
  }

  @Test func `what the program refuses does not come from the history either`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true) { _, _ in false }
    try sandbox.load(request("/a"), redirect("/b"), [])
    #expect(try sandbox.served(request("/a"), policy: .offline) == nil)
  }

  @Test(arguments: [10, 100_000], [404, 304])
  func `what was invalidated while it was remembered is not in the history`(
    length: Int, status: Int
  ) throws {
    let fields: HTTPFields = [HTTPField("Vary", "Accept-Language"), HTTPField("ETag", "\"1\"")]
    for isPermitted in [true, false] {
      let sandbox = try CacheSandbox(keepsHistory: true)
      let asked = request("/a", [HTTPField("Accept-Language", status == 404 ? "de" : "en")])
      try sandbox.load(
        request("/a", [HTTPField("Accept-Language", "de")]), head(200, fields), content(length))
      let forwarding = try #require(sandbox.forward(asked, policy: .revalidate, at: 5))
      _ = sandbox.receive(head(status, fields), forwarding, at: 5, isPermitted: isPermitted)
      #expect(sandbox.store.statistics.entries == (isPermitted ? 2 : 1))
    }
  }

  @Test func `who removes a page removes its history`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    try sandbox.load(request("/a"), page(), content(10))
    try sandbox.load(request("/a"), head(404, []), content(3), at: 5)
    try sandbox.load(request("/b"), redirect("/a"), [])
    #expect(sandbox.store.statistics.entries == 3)
    #expect(try sandbox.store.remove(prefix: sandbox.cache.key(of: request("/"))) == 3)
    #expect(sandbox.store.statistics.entries == 0)
  }

  @Test(arguments: [
    ("gzip, deflate, br", true), ("br;q=1.0, GZIP;q=0.5", true), ("br", false),
    ("br, gzip;q=0", false), ("", false),
  ])
  func `a content coding that the client accepts is there without a network`(
    accepted: String, isThere: Bool
  ) throws {
    let vary: HTTPFields = [HTTPField("Vary", "Accept-Encoding")]
    func asked(_ path: String, _ value: String, _ more: HTTPField...) -> HTTPRequest {
      let coding = value.isEmpty ? [] : [HTTPField("Accept-Encoding", value)]
      return request(path, HTTPFields(coding + more))
    }
    let sandbox = try CacheSandbox(keepsHistory: true)
    let coded = head(200, [vary[0], HTTPField("Content-Encoding", "GZip")])
    try sandbox.load(asked("/coded", "gzip, deflate"), coded, content(10))
    try sandbox.load(asked("/plain", "identity"), head(200, vary), content(20))
    try sandbox.load(asked("/go", "identity"), redirect("/b", vary), content(30))
    for (path, isThere) in [("/coded", isThere), ("/plain", true), ("/go", true)] {
      let ask = asked(path, accepted)
      #expect((try sandbox.served(ask, policy: .offline) != nil) == isThere, "\(path)")
      #expect(try sandbox.served(ask) == nil && sandbox.served(ask, policy: .storedOnly) == nil)
    }
    let other = head(200, [HTTPField("Vary", "Accept-Encoding, Accept-Language")])
    try sandbox.load(asked("/a", "identity", HTTPField("Accept-Language", "de")), other, [])
    let english = asked("/a", accepted, HTTPField("Accept-Language", "en"))
    #expect(try sandbox.served(english, policy: .offline) == nil)
  }
}
