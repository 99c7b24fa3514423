import HTTPSemantics
import Testing

struct CacheRulesReuseTests {
  private func reuse(
    _ response: String, _ request: String = "", at seconds: Int64,
    rules: CacheRules = CacheRules()
  ) -> Reuse {
    rules.reuse(
      of: stored(cacheControl(response), rules: rules), for: asking(request), at: later(seconds))
  }

  private func mayServeStale(
    _ response: String, _ request: String = "", at seconds: Int64, after failure: ForwardFailure,
    rules: CacheRules = CacheRules()
  ) -> Bool {
    rules.mayServeStale(
      stored(cacheControl(response), rules: rules), for: asking(request), at: later(seconds),
      after: failure)
  }

  @Test func `a response is fresh until its age is its lifetime`() {
    #expect(reuse("max-age=10", at: 0) == .fresh(ttl: 10))
    #expect(reuse("max-age=10", at: 9) == .fresh(ttl: 1))
    #expect(reuse("max-age=10", at: 10) == .mustValidate(.stale(by: 0)))
    #expect(reuse("max-age=10", at: 13) == .mustValidate(.stale(by: 3)))
    #expect(reuse("", at: 0) == .mustValidate(.stale(by: 0)))
  }

  @Test func `with a clock that was ahead, the age is unknown and asks for validation`() {
    #expect(reuse("max-age=10", at: -60) == .fresh(ttl: 10))
    #expect(reuse("max-age=10", at: -61) == .mustValidate(.clockSetBack))
    #expect(reuse("max-age=10", "max-stale", at: -1000) == .mustValidate(.clockSetBack))
    #expect(mayServeStale("max-age=10", at: -1000, after: .unreachable))
    #expect(!mayServeStale("max-age=10, must-revalidate", at: -1000, after: .unreachable))
    #expect(mayServeStale("max-age=10, must-revalidate", at: -9, after: .unreachable))
  }

  @Test func `a response that is known to be outdated is stale, whatever lifetime it has`() {
    func outdated(_ control: String, _ request: String, lifetime: Int64? = nil) -> Reuse {
      let response = StoredResponse(
        status: 200, fields: cacheControl(control), requestTime: received, responseTime: received,
        selection: .none, isOutdated: true, rules: CacheRules())
      let (rules, asked) = (CacheRules(), asking(request))
      #expect(
        rules.mayServeStale(response, for: asked, at: later(5), after: .unreachable)
          == !control.contains("must-revalidate"))
      if let lifetime {
        return rules.reuse(of: response, for: asked, lifetime: lifetime, at: later(5))
      }
      return rules.reuse(of: response, for: asked, at: later(5))
    }
    let directives = ["max-age=10", "max-age=10, must-revalidate", "max-age=10, immutable"]
    for control in directives + ["max-age=1, stale-while-revalidate=60"] {
      for request in ["", "max-stale"] {
        for lifetime in [nil, 100] as [Int64?] {
          let by: Int64 = control.hasPrefix("max-age=1,") && lifetime == nil ? 4 : 0
          #expect(outdated(control, request, lifetime: lifetime) == .mustValidate(.stale(by: by)))
        }
      }
    }
  }

  @Test func `no-cache asks for validation of a fresh response, with field names it does not`() {
    #expect(reuse("max-age=10, no-cache", at: 0) == .mustValidate(.noCache))
    #expect(reuse("max-age=10, no-cache=\"\"", at: 0) == .mustValidate(.noCache))
    #expect(reuse("max-age=10, no-cache=\"a\"", at: 0) == .fresh(ttl: 10))
    #expect(reuse("no-cache, max-age=10", "max-stale", at: 20) == .mustValidate(.noCache))
  }

  @Test func `a response that may not be stored any more is validated before each use`() {
    #expect(reuse("max-age=10, no-store", at: 0) == .mustValidate(.noCache))
    #expect(!mayServeStale("max-age=10, no-store", at: 5, after: .unreachable))
    #expect(reuse("max-age=10, no-store, must-understand", at: 0) == .fresh(ttl: 10))
    #expect(reuse("max-age=10, private", at: 0, rules: .shared) == .mustValidate(.noCache))
    #expect(reuse("max-age=10, private=\"a\"", at: 0, rules: .shared) == .fresh(ttl: 10))
    #expect(reuse("max-age=10, private", at: 0) == .fresh(ttl: 10))
  }

  @Test(arguments: ["max-age=1000", "max-age=1", "no-cache", "max-age=1000, immutable", ""])
  func `a lifetime of the caller's counts from the receipt, whatever the server says`(
    control: String
  ) {
    let response = stored([HTTPField("Cache-Control", control), HTTPField("Age", "500")])
    func reuse(_ request: String, at seconds: Int64) -> Reuse {
      CacheRules().reuse(of: response, for: asking(request), lifetime: 10, at: later(seconds))
    }
    #expect(reuse("", at: 0) == .fresh(ttl: 10))
    #expect(reuse("", at: 9) == .fresh(ttl: 1))
    #expect(reuse("", at: 10) == .mustValidate(.stale(by: 0)))
    #expect(reuse("", at: 13) == .mustValidate(.stale(by: 3)))
    #expect(reuse("", at: -1) == .mustValidate(.clockSetBack))
    #expect(reuse("no-cache", at: 0) == .mustValidate(.requestNoCache))
    for seconds: Int64 in [-1_000, -2, 0] {
      let forEver = CacheRules().reuse(
        of: response, for: asking(""), lifetime: .max, at: later(seconds))
      #expect(forEver == (seconds < 0 ? .mustValidate(.clockSetBack) : .fresh(ttl: .max)))
    }
  }

  @Test func `a lifetime of the caller's allows nothing that may not be stored any more`() {
    let noStore = stored(cacheControl("max-age=10, no-store"))
    #expect(
      CacheRules().reuse(of: noStore, for: asking(""), lifetime: 10, at: later(0))
        == .mustValidate(.noCache))
  }

  @Test func `a request's no-cache goes before everything but the response's`() {
    #expect(
      reuse("max-age=10, immutable", "no-cache", at: 0) == .mustValidate(.requestNoCache))
    #expect(
      reuse("max-age=10, stale-while-revalidate=60", "no-cache, max-stale", at: 20)
        == .mustValidate(.requestNoCache))
  }

  @Test func `a request's max-age is compared with the age, and 0 is never young enough`() {
    #expect(reuse("max-age=100", "max-age=5", at: 5) == .fresh(ttl: 95))
    #expect(reuse("max-age=100", "max-age=5", at: 6) == .mustValidate(.requestMaxAge))
    #expect(reuse("max-age=100", "max-age=0", at: 0) == .mustValidate(.requestMaxAge))
    #expect(reuse("max-age=0", "max-age=0, max-stale", at: 0) == .mustValidate(.requestMaxAge))
    #expect(
      CacheRules().reuse(
        of: stored([HTTPField("Cache-Control", "max-age=10000"), HTTPField("Age", "1800")]),
        for: asking("max-age=600"), at: received) == .mustValidate(.requestMaxAge))
  }

  @Test func `an immutable response is not validated for a reload while it is fresh`() {
    #expect(reuse("max-age=100, immutable", "max-age=0", at: 50) == .fresh(ttl: 50))
    #expect(
      reuse("max-age=100, immutable", "max-age=0", at: 150) == .mustValidate(.requestMaxAge))
    #expect(reuse("max-age=100, immutable", at: 150) == .mustValidate(.stale(by: 50)))
  }

  @Test func `min-fresh asks for time to live`() {
    #expect(reuse("max-age=100", "min-fresh=40", at: 60) == .fresh(ttl: 40))
    #expect(reuse("max-age=100", "min-fresh=40", at: 61) == .mustValidate(.requestMinFresh))
    #expect(reuse("max-age=100", "min-fresh=x", at: 0) == .mustValidate(.requestMinFresh))
    for seconds in 0...1 {
      #expect(
        reuse("max-age=10", "min-fresh=\(seconds), max-stale", at: 20)
          == .mustValidate(.requestMinFresh))
    }
  }

  @Test func `max-stale permits a stale response as far as it goes`() {
    #expect(reuse("max-age=10", "max-stale", at: 1_000_000) == .stale(by: 999_990, .maxStale))
    #expect(reuse("max-age=10", "max-stale=5", at: 15) == .stale(by: 5, .maxStale))
    #expect(reuse("max-age=10", "max-stale=5", at: 16) == .mustValidate(.stale(by: 6)))
    #expect(reuse("max-age=10", "max-stale=x", at: 10) == .mustValidate(.stale(by: 0)))
    #expect(reuse("max-age=10", "max-stale=5", at: 9) == .fresh(ttl: 1))
    #expect(reuse("max-age=10", "max-age=15, max-stale", at: 12) == .stale(by: 2, .maxStale))
    #expect(
      reuse("max-age=10", "max-age=11, max-stale", at: 12) == .mustValidate(.requestMaxAge))
  }

  @Test func `stale-while-revalidate permits a stale response within its window`() {
    let response = "max-age=1, stale-while-revalidate=4"
    #expect(reuse(response, at: 1) == .stale(by: 0, .staleWhileRevalidate))
    #expect(reuse(response, at: 4) == .stale(by: 3, .staleWhileRevalidate))
    #expect(reuse(response, at: 5) == .mustValidate(.stale(by: 4)))
    #expect(
      reuse("max-age=1, stale-while-revalidate=0", at: 1) == .mustValidate(.stale(by: 0)))
    #expect(reuse(response, "max-age=10", at: 2) == .mustValidate(.stale(by: 1)))
    #expect(reuse(response, "max-stale=1", at: 2) == .stale(by: 1, .maxStale))
    for limit in ["1", "x"] {
      #expect(reuse(response, "max-stale=\(limit)", at: 3) == .mustValidate(.stale(by: 2)))
    }
  }

  @Test(
    arguments: ["must-revalidate", "proxy-revalidate", "s-maxage=1"])
  func `what forbids stale responses goes before every permission`(directive: String) {
    let response = "max-age=1, stale-while-revalidate=60, stale-if-error=60, " + directive
    let isForAll = directive == "must-revalidate"
    #expect(reuse(response, "max-stale", at: 2, rules: .shared) == .mustValidate(.stale(by: 1)))
    #expect(
      reuse(response, "max-stale", at: 2)
        == (isForAll ? .mustValidate(.stale(by: 1)) : .stale(by: 1, .maxStale)))
    #expect(reuse(response, at: 0, rules: .shared) == .fresh(ttl: 1))
    for failure in [ForwardFailure.unreachable, .serverError(503)] {
      #expect(!mayServeStale(response, at: 2, after: failure, rules: .shared))
      #expect(mayServeStale(response, at: 2, after: failure) == !isForAll)
    }
  }

  @Test func `a request that waited gets what is stale only if it may`() {
    func mayCollapse(
      _ response: String, _ request: String = "", at seconds: Int64, takesStale: Bool
    ) -> Bool {
      CacheRules().mayCollapse(
        stored(cacheControl(response)), for: asking(request), at: later(seconds),
        takesStale: takesStale)
    }
    for takesStale in [true, false] {
      #expect(mayCollapse("max-age=10", at: 9, takesStale: takesStale))
      #expect(mayCollapse("max-age=10", at: 10, takesStale: takesStale) == takesStale)
      #expect(!mayCollapse("max-age=10, must-revalidate", at: 10, takesStale: takesStale))
      #expect(!mayCollapse("max-age=10, no-cache", at: 0, takesStale: takesStale))
      #expect(!mayCollapse("max-age=10", "no-cache", at: 0, takesStale: takesStale))
    }
  }

  @Test func `without any connection a stale response may be used unless no-cache forbids it`() {
    #expect(mayServeStale("max-age=1", at: 1_000_000, after: .unreachable))
    #expect(mayServeStale("", at: 5, after: .unreachable))
    #expect(!mayServeStale("max-age=1, no-cache", at: 5, after: .unreachable))
    #expect(mayServeStale("max-age=1, no-cache=\"a\"", at: 5, after: .unreachable))
    #expect(!mayServeStale("max-age=1", "no-cache", at: 5, after: .unreachable))
    #expect(mayServeStale("max-age=1", "max-age=0", at: 5, after: .unreachable))
    for (seconds, isFresh) in [(5, true), (9, true), (10, false)] as [(Int64, Bool)] {
      #expect(
        mayServeStale(
          "max-age=10, must-revalidate", "max-age=0", at: seconds, after: .unreachable) == isFresh)
    }
  }

  @Test(
    arguments: [500, 502, 503, 504])
  func `in place of a server's error a stale response needs stale-if-error`(status: Int) {
    let failure = ForwardFailure.serverError(status)
    #expect(!mayServeStale("max-age=2", at: 3, after: failure))
    #expect(!mayServeStale("max-age=20", "max-age=0", at: 3, after: failure))
    #expect(mayServeStale("max-age=2, stale-if-error=60", at: 61, after: failure))
    #expect(!mayServeStale("max-age=2, stale-if-error=60", at: 62, after: failure))
    #expect(mayServeStale("max-age=2", "stale-if-error=60", at: 61, after: failure))
    #expect(!mayServeStale("max-age=2", "stale-if-error=60", at: 62, after: failure))
    #expect(!mayServeStale("max-age=2, stale-if-error=60", "no-cache", at: 3, after: failure))
    #expect(!mayServeStale("no-cache, stale-if-error=60", at: 0, after: failure))
  }

  @Test(
    arguments: [501, 505, 599, 404, 200])
  func `other statuses are answers and no failures`(status: Int) {
    #expect(
      !mayServeStale("max-age=2, stale-if-error=60", at: 3, after: .serverError(status)))
  }

  @Test func `a targeted field decides on the use, too`() {
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "max-age=1, must-revalidate"),
      HTTPField("CDN-Cache-Control", "max-age=3600"), HTTPField("Expires", "0"),
    ]
    func reuse(_ rules: CacheRules) -> Reuse {
      rules.reuse(of: stored(fields, rules: rules), for: RequestDirectives(), at: later(3))
    }
    #expect(reuse(.reverse) == .fresh(ttl: 3597))
    #expect(reuse(CacheRules()) == .mustValidate(.stale(by: 2)))
  }

  @Test(
    arguments: [
      (ValidationReason.stale(by: 7), "7 s"), (.noCache, "no-cache"),
      (.requestNoCache, "request says no-cache"), (.requestMaxAge, "max-age"),
      (.requestMinFresh, "min-fresh"),
    ])
  func `every reason says what it is`(reason: ValidationReason, part: String) {
    #expect(reason.description.contains(part))
  }
}
