import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseCacheSharedTests {
  private let rules = CacheRules()
  private let fresh = HTTPField("Cache-Control", "max-age=60")

  private func form(
    _ fields: [HTTPField], _ asked: HTTPFields = [], status: Int = 200
  ) -> SharedForm? {
    SharedForm(
      head(status, HTTPFields(fields)), to: request("/a", asked),
      ResponseTimes(request: moment(0), response: moment(1)), rules)
  }

  @Test func `a form answers the requests that it is for, while it is fresh`() throws {
    let shared = try #require(
      form([fresh, HTTPField("Vary", "Accept-Language")], [HTTPField("Accept-Language", "de")]))
    #expect(shared.selecting == ["accept-language:de"])
    let german = request("/a", [HTTPField("accept-language", "DE")])
    #expect(shared.freshHead(for: german, rules, now: moment(10))?.status == 200)
    #expect(shared.freshHead(for: request("/a"), rules, now: moment(10)) == nil)
    #expect(shared.freshHead(for: german, rules, now: moment(61)) == nil)
    let age = shared.freshHead(for: german, rules, now: moment(10))?.fields.first(named: "Age")?
      .text
    #expect(age == "10" || age == "9")
    let reload = request(
      "/a", [HTTPField("accept-language", "DE"), HTTPField("Cache-Control", "no-cache")])
    #expect(shared.freshHead(for: reload, rules, now: moment(10)) == nil)
  }

  @Test func `what only one user may have is no form`() {
    #expect(form([fresh]) != nil)
    #expect(form([HTTPField("Cache-Control", "private, max-age=60")]) == nil)
    #expect(form([fresh, HTTPField("Set-Cookie", "a=b")]) == nil)
    #expect(form([fresh], [HTTPField("Cookie", "a=b")]) == nil)
    #expect(form([fresh], [HTTPField("Authorization", "Basic x")]) == nil)
    #expect(form([fresh], [HTTPField("Cache-Control", "no-store")]) == nil)
    #expect(form([fresh, HTTPField("Vary", "Cookie")], []) == nil)
    let key = HTTPField("X-Api-Key", "k")
    #expect(form([fresh, HTTPField("Vary", "X-Api-Key")], [key]) == nil)
    #expect(form([fresh, HTTPField("Vary", "*")]) == nil)
    #expect(form([fresh], status: 206) == nil && form([fresh], status: 302) == nil)
  }

  @Test func `a form of another machine that the rules forbid, or that is malformed, is not used`()
    throws
  {
    let good = try #require(form([fresh]))
    func answers(_ change: (inout SharedForm) -> Void) -> Bool {
      var form = good
      change(&form)
      return form.freshHead(for: request("/a"), rules, now: moment(10)) != nil
    }
    #expect(answers { _ in })
    #expect(!answers { $0.fields.append(Field("A", "b\r\nC: d")) })
    #expect(!answers { $0.fields.append(Field("A B", "c")) })
    #expect(!answers { $0.fields.append(Field("set-cookie", "a=b")) })
    #expect(!answers { $0.fields = [Field("Cache-Control", "private, max-age=60")] })
    #expect(!answers { $0.selecting = ["a b:c"] })
    #expect(!answers { $0.selecting = ["prefer:1", "prefer:2"] })
    #expect(!answers { $0.selecting = [ByteString("prefer:" + String(repeating: "a", count: 64))] })
    #expect(!answers { $0.selecting = ["authorization"] })
    #expect(!answers { $0.status = 500 } && !answers { $0.status = 206 })
  }

  @Test func `a shared cache adopts no form that its own targeted field makes private`() throws {
    let sandbox = try CacheSandbox()
    let shared = try #require(form([fresh, HTTPField("Own-Cache-Control", "private, max-age=60")]))
    let forwarding = try #require(sandbox.forward(request(), policy: .protocolRules))
    for (fields, isAdopted) in [([], true), (["Own-Cache-Control"], false)] {
      var own = CacheRules(role: .sharedCache)
      own.targetedFields = fields
      let cache = ResponseCache(store: sandbox.store, rules: own, fingerprintKey: .ofTests)
      #expect((cache.adopting(shared, for: forwarding, now: moment(10)) != nil) == isAdopted)
    }
  }

  @Test func `a time in the future is now`() throws {
    var shared = try #require(form([fresh]))
    (shared.requested, shared.received) = (moment(1_000), .distantFuture)
    let head = shared.freshHead(for: request("/a"), rules, now: moment(10))
    // The Date of the origin counts all the same.
    #expect(head?.fields.first(named: "Age")?.text == "9")
    (shared.requested, shared.received) = (.distantPast, .distantPast)
    #expect(shared.freshHead(for: request("/a"), rules, now: moment(10)) == nil)
  }

  @Test func `of what is stored, only what machines may share has a form`() throws {
    let sandbox = try CacheSandbox(keepsHistory: true)
    func forms() -> Int {
      sandbox.store.entries().compactMap { sandbox.cache.sharedForm(of: $0) }.count
    }
    try sandbox.load(request("/mine"), head(200, [HTTPField("Cache-Control", "private")]), [])
    try sandbox.load(request("/mine", [HTTPField("Cookie", "a=b")]), head(200, [fresh]), [])
    #expect(forms() == 0)
    try sandbox.load(request(), head(200, [fresh]), content(10))
    #expect(forms() == 1)
    // The page that a 404 replaces is in the history.
    try sandbox.load(request(), head(404, [fresh]), content(3))
    #expect(sandbox.store.statistics.entries == 3)
    #expect(forms() == 1)
    let stored = try #require(sandbox.store.variants(of: "GET http://example.com/a").first)
    try sandbox.store.put([], for: "HEAD http://example.com/a", metadata: stored.metadata)
    #expect(forms() == 1)
  }

  @Test func `a form is adopted for requests that select it, and only if it is newer`() throws {
    let fields = [fresh, HTTPField("Vary", "Accept-Language")]
    let shared = try #require(form(fields, [HTTPField("Accept-Language", "de")]))
    let sandbox = try CacheSandbox()
    for language in ["de", "en"] {
      let forwarding = try #require(sandbox.forward(asking(language), policy: .protocolRules))
      let plan = sandbox.cache.adopting(shared, for: forwarding, now: moment(10))
      #expect((plan != nil) == (language == "de"))
    }
    for (time, isNewer) in [(0, true), (1, false), (2, false)] as [(Int64, Bool)] {
      try sandbox.load(asking("de"), head(200, HTTPFields(fields)), [], at: time)
      let forwarding = try #require(
        sandbox.forward(asking("de"), policy: .protocolRules, at: 100))
      let plan = sandbox.cache.adopting(shared, for: forwarding, now: moment(100))
      #expect((plan != nil) == isNewer, "\(time)")
    }
  }

  @Test func `other machines are asked only for what is not one user's and not fresh`() throws {
    let sandbox = try CacheSandbox()
    let token = request("/a", [HTTPField("Authorization", "x")])
    let asked = request("/a", [HTTPField("Cache-Control", "no-cache")])
    for (request, policy, mayAsk) in [
      (request(), .protocolRules, true), (request(method: "HEAD"), .protocolRules, true),
      (request(method: "POST"), .protocolRules, false), (token, .protocolRules, false),
      (request(), .reload, false),
    ] as [(HTTPRequest, CachePolicy, Bool)] {
      #expect(sandbox.forward(request, policy: policy)?.mayAskOthers == mayAsk, "\(request)")
    }
    try sandbox.load(request(), head(200, [fresh, HTTPField("ETag", "\"1\"")]), content(10))
    #expect(sandbox.forward(request(), policy: .protocolRules, at: 90)?.mayAskOthers == true)
    #expect(sandbox.forward(asked, policy: .protocolRules)?.mayAskOthers == false)
  }

  @Test func `the digest of a body is 32 bytes, or there is none`() {
    var metadata = EntryMetadata(status: 200)
    let digest = [UInt8](repeating: 0xAB, count: 32)
    metadata.bodySHA256 = digest
    metadata.bodySHA256 = digest
    #expect(metadata.bodySHA256 == digest && metadata.userInfo.count == 1)
    #expect(metadata.isSameResponse(as: EntryMetadata(status: 200)))
    #expect(!metadata.isSameResponse(as: EntryMetadata(status: 201)))
    for text in ["", "ab", String(repeating: "g", count: 64), String(repeating: "a", count: 66)] {
      metadata.userInfo = [Field("http-sha256", ByteString(text))]
      #expect(metadata.bodySHA256 == nil, "\(text)")
    }
    metadata.bodySHA256 = nil
    #expect(metadata.userInfo.isEmpty)
  }
}
