import HTTPSemantics
import Testing

struct CacheRulesUsersTests {
  private let letter = CacheRules(role: .sharedCache, setCookie: .keep)
  private let cookie = HTTPField("Set-Cookie", "sid=1")

  private func reason(
    _ fields: HTTPFields, to request: HTTPFields = [], _ rules: CacheRules = .shared
  ) throws -> NotStoredReason? {
    rules.whyNotStored(
      HTTPRequest(url: try NormalizedURL("http://a/"), fields: request),
      HTTPResponseHead(status: 200, fields: fields), now: received)
  }

  private func personal(_ control: String, _ rules: CacheRules = .shared) -> StoredResponse {
    StoredResponse(
      status: 200, fields: cacheControl(control), requestTime: received, responseTime: received,
      selection: .none, isPersonal: true, rules: rules)
  }

  @Test func `a shared cache stores what sets a cookie only where public allows it`() throws {
    for control in ["max-age=60", "s-maxage=60", "must-revalidate", "private=\"Set-Cookie\""] {
      let fields: HTTPFields = [HTTPField("Cache-Control", control), cookie]
      #expect(try reason(fields) == .setCookie, "\(control)")
      for rules in [letter, CacheRules()] { #expect(try reason(fields, to: [], rules) == nil) }
    }
    #expect(try reason([cookie]) == .setCookie)
    #expect(try reason([HTTPField("Cache-Control", "public, max-age=60"), cookie]) == nil)
  }

  @Test func `a shared cache neither stores nor serves the cookie itself`() {
    let fields: HTTPFields = [
      HTTPField("Date", date(0)), cookie, HTTPField("set-cookie", "b"), HTTPField("X", "1"),
    ]
    for (rules, isKept) in [(.shared, false), (letter, true), (CacheRules(), true)] {
      let kept = rules.fieldsToStore(fields, receivedAt: received)
      #expect(kept.contains("Set-Cookie") == isKept)
      let served = rules.fieldsToServe(stored(fields, rules: rules), at: received, validated: true)
      #expect(served.contains("Set-Cookie") == isKept)
      #expect(rules.fieldsForCaller(of: fields).count == (isKept ? 0 : 2))
      #expect(kept.contains("X") && served.contains("X"))
    }
  }

  @Test func `a shared cache stores the answer to a request with Cookie only with a lifetime`()
    throws
  {
    let request: HTTPFields = [HTTPField("Cookie", "sid=1")]
    for control in ["", "public", "must-revalidate", "no-cache"] {
      #expect(try reason(cacheControl(control), to: request) == .cookie, "\(control)")
      for rules in [letter, CacheRules()] {
        #expect(try reason(cacheControl(control), to: request, rules) == nil)
      }
      #expect(try reason(cacheControl(control)) == nil)
    }
    for control in ["max-age=0", "max-age=60", "s-maxage=60"] {
      #expect(try reason(cacheControl(control), to: request) == nil, "\(control)")
    }
    #expect(try reason([HTTPField("Expires", date(60))], to: request) == nil)
  }

  @Test func `nobody forces the use of a stale answer to a request that names its user`() {
    for rules in [CacheRules.shared, letter, CacheRules()] {
      let isGuarded = rules == .shared
      let response = personal("max-age=10", rules)
      let reuse = rules.reuse(of: response, for: asking("max-stale"), at: later(20))
      #expect(
        reuse == (isGuarded ? .mustValidate(.stale(by: 10)) : .stale(by: 10, .maxStale)))
      let isServed = rules.mayServeStale(
        response, for: asking(""), at: later(20), after: .unreachable)
      #expect(isServed != isGuarded)
      let isServedForError = rules.mayServeStale(
        response, for: asking("stale-if-error=60"), at: later(20), after: .serverError(503))
      #expect(isServedForError != isGuarded)
      #expect(rules.forbidsForcedStaleness(of: response) == isGuarded)
    }
  }

  @Test func `its own fields may permit it, and while it is fresh it is like others`() {
    let rules = CacheRules.shared
    let tolerant = personal("max-age=10, stale-if-error=60, stale-while-revalidate=60")
    for failure in [ForwardFailure.unreachable, .serverError(500)] {
      #expect(rules.mayServeStale(tolerant, for: asking(""), at: later(20), after: failure))
      #expect(!rules.mayServeStale(tolerant, for: asking(""), at: later(70), after: failure))
    }
    #expect(
      rules.reuse(of: tolerant, for: asking(""), at: later(20))
        == .stale(by: 10, .staleWhileRevalidate))
    let plain = personal("max-age=10")
    #expect(rules.reuse(of: plain, for: asking(""), at: later(5)) == .fresh(ttl: 5))
    #expect(
      rules.mayServeStale(plain, for: asking("max-age=1"), at: later(5), after: .unreachable))
  }

  @Test func `no lifetime is guessed for an answer to a request that names its user`() {
    let fields: HTTPFields = [HTTPField("Last-Modified", date(-86_400))]
    for (rules, seconds) in [(CacheRules.shared, 0), (letter, 8640), (CacheRules(), 8640)] {
      let response = StoredResponse(
        status: 200, fields: fields, requestTime: received, responseTime: received,
        selection: .none, isPersonal: true, rules: rules)
      #expect(rules.freshnessLifetime(of: response) == Int64(seconds))
    }
  }

  @Test func `any field that is not known to be harmless may identify a user`() throws {
    func mayBePersonal(_ name: String) throws -> Bool {
      HTTPRequest(url: try NormalizedURL("http://a/"), fields: [HTTPField(name, "1")]).mayBePersonal
    }
    for name in ["X-Api-Key", "Cookie", "Authorization", "x-forwarded-user"] {
      #expect(try mayBePersonal(name), "\(name)")
    }
    for name in [
      "Accept", "Sec-Fetch-Mode", "Origin", "Referer", "Via", "X-Forwarded-For", "HOST",
      "Traceparent", "X-Request-ID",
    ] {
      #expect(try !mayBePersonal(name), "\(name)")
    }
  }

  @Test func `two requests name the same user if they differ only in what never names one`() throws
  {
    let url = try NormalizedURL("http://a/")
    let (key, token) = (HTTPField("X-Api-Key", "1"), HTTPField("Private-Token", "2"))
    func isSame(_ one: [HTTPField], _ other: [HTTPField]) -> Bool {
      HTTPRequest(url: url, fields: HTTPFields(one))
        .hasSameUser(as: HTTPRequest(url: url, fields: HTTPFields(other)))
    }
    #expect(isSame([HTTPField("Accept", "a")], [HTTPField("Via", "b")]))
    #expect(isSame([key, token], [token, HTTPField("x-api-key", "1")]))
    for other in [
      [], [token], [key, token], [key, key], [HTTPField("X-Api-Key", "2")],
      [HTTPField("X-Api-Kez", "1")],
    ] {
      #expect(!isSame([key], other) && !isSame(other, [key]), "\(other)")
    }
  }

  @Test func `what a private cache has stored for one user is not for a shared one`() {
    for (control, isForAll) in [("private", false), ("max-age=60", false), ("public", true)] {
      let fields: HTTPFields = [HTTPField("Cache-Control", control), cookie]
      #expect(CacheRules.shared.mayUse(stored(fields, rules: .shared)) == isForAll)
      #expect(letter.mayUse(stored(fields, rules: letter)) == (control != "private"))
      #expect(CacheRules().mayUse(stored(fields)))
    }
  }
}
