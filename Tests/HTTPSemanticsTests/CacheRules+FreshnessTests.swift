import HTTPSemantics
import Testing

struct CacheRulesFreshnessTests {
  private func lifetime(
    _ fields: HTTPField..., status: Int = 200, rules: CacheRules = CacheRules()
  ) -> Int64 {
    rules.freshnessLifetime(of: stored(HTTPFields(fields), status: status, rules: rules))
  }

  private func age(
    _ fields: HTTPField..., at seconds: Int64 = 0, delay: Int64 = 0
  ) -> Int64 {
    CacheRules().currentAge(of: stored(HTTPFields(fields), delay: delay), at: later(seconds))
  }

  @Test func `s-maxage goes before max-age in a shared cache, and is nothing in a private one`() {
    let field = HTTPField("Cache-Control", "max-age=1, s-maxage=3600")
    #expect(
      lifetime(field, rules: .shared) == 3600)
    #expect(lifetime(field) == 1)
    let only = HTTPField("Cache-Control", "s-maxage=3600")
    #expect(lifetime(only) == 0)
  }

  @Test func `max-age goes before Expires, whichever is longer, valid or not`() {
    for expires in [date(7200), date(-7200), "0"] {
      let expires = HTTPField("Expires", expires)
      #expect(
        lifetime(HTTPField("Cache-Control", "max-age=3600"), expires)
          == 3600)
      #expect(
        lifetime(HTTPField("Cache-Control", "max-age=0"), expires)
          == 0)
      #expect(
        lifetime(HTTPField("Cache-Control", "max-age=x"), expires)
          == 0)
    }
  }

  @Test(
    arguments: [
      (300, 0, 300), (300, 400, 0), (300, -100, 400), (0, 0, 0), (-10, 0, 0),
    ] as [(Int64, Int64, Int64)])
  func `Expires counts from Date, and from the receipt where there is none`(
    expires: Int64, madeAt: Int64, seconds: Int64
  ) {
    #expect(
      lifetime(HTTPField("Expires", date(expires)), HTTPField("Date", date(madeAt)))
        == seconds)
    #expect(
      lifetime(HTTPField("Expires", date(expires)))
        == max(0, expires))
  }

  @Test func `an invalid Expires gives no lifetime, and forbids to guess one`() {
    #expect(
      lifetime(HTTPField("Expires", "0"), HTTPField("Last-Modified", date(-86_400)))
        == 0)
  }

  @Test func `a lifetime beyond 2^31 seconds is as long`() {
    #expect(
      lifetime(HTTPField("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"))
        == DeltaSeconds.maximum)
    #expect(
      lifetime(
        HTTPField("Expires", date(10)), HTTPField("Date", "Sat, 01 Jan 0000 00:00:00 GMT"))
        == DeltaSeconds.maximum)
  }

  @Test(
    arguments: 200...599)
  func `only heuristically cacheable responses get a lifetime from their last change`(status: Int) {
    let known: Set = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
    let changed = HTTPField("Last-Modified", date(-86_400))
    #expect(
      lifetime(changed, status: status)
        == (known.contains(status)
          ? 8640
          : 0))
    #expect(
      lifetime(changed, HTTPField("Cache-Control", "public"), status: status)
        == 8640)
  }

  @Test func `a shared cache guesses no lifetime for what sets a cookie`() {
    let fields = [
      HTTPField("Last-Modified", date(-86_400)), HTTPField("Set-Cookie", "sid=1"),
    ]
    #expect(lifetime(fields[0], fields[1]) == 8640)
    let shared = CacheRules(role: .sharedCache)
    #expect(lifetime(fields[0], rules: shared) == 8640)
    #expect(
      lifetime(fields[0], fields[1], rules: shared) == 0)
    #expect(
      lifetime(fields[1], HTTPField("Cache-Control", "max-age=60"), rules: shared) == 60)
  }

  @Test func `the last change counts from Date, and one in the future gives nothing`() {
    let made = HTTPField("Date", date(-1000))
    #expect(lifetime(HTTPField("Last-Modified", date(-2000)), made) == 100)
    #expect(lifetime(HTTPField("Last-Modified", date(-500)), made) == 0)
    #expect(lifetime(HTTPField("Last-Modified", date(-5)), made) == 0)
    #expect(lifetime(HTTPField("Last-Modified", "x"), made) == 0)
    #expect(lifetime(made) == 0)
  }

  @Test func `percent and maximum of the heuristic can be set, and nonsense does no harm`() {
    let changed = HTTPField("Last-Modified", date(-100_000_000))
    func seconds(_ percent: Int, _ maximum: Int64) -> Int64 {
      var rules = CacheRules()
      rules.heuristicPercent = percent
      rules.heuristicMaximumSeconds = maximum
      return lifetime(changed, rules: rules)
    }
    #expect(lifetime(changed) == 7 * 86_400)
    #expect(seconds(50, .max) == 50_000_000)
    #expect(seconds(0, .max) == 0 && seconds(-5, .max) == 0)
    #expect(seconds(.max, .max) == 100_000_000)
    #expect(seconds(10, 60) == 60 && seconds(10, -1) == 0 && seconds(.min, .min) == 0)
  }

  @Test func `the age is that of the field and of the way, or the apparent one if that is greater`()
  {
    #expect(age() == 0)
    #expect(age(HTTPField("Age", "30")) == 30)
    #expect(age(HTTPField("Age", "30"), delay: 5) == 35)
    #expect(age(HTTPField("Date", date(-7200))) == 7200)
    #expect(age(HTTPField("Date", date(-20)), HTTPField("Age", "30"), delay: 5) == 35)
    #expect(age(HTTPField("Date", date(-50)), HTTPField("Age", "30"), delay: 5) == 50)
    #expect(age(HTTPField("Date", date(100)), HTTPField("Age", "15")) == 15)
  }

  @Test func `the age grows with the time in the store`() {
    #expect(age(at: 7) == 7)
    #expect(age(HTTPField("Age", "30"), at: 7, delay: 5) == 42)
    #expect(age(HTTPField("Date", date(-50)), at: 7) == 57)
  }

  @Test func `a clock that was set back makes nothing younger than it was at its receipt`() {
    #expect(age(at: -1000) == 0)
    #expect(age(HTTPField("Age", "30"), at: -1000) == 30)
    #expect(age(HTTPField("Age", "30"), delay: -1000) == 30)
  }

  @Test func `the age stays within delta-seconds, whatever the numbers`() {
    #expect(age(HTTPField("Age", "99999999999"), at: .max - received.seconds) == 2_147_483_648)
    #expect(age(HTTPField("Date", "Sat, 01 Jan 0000 00:00:00 GMT")) == 2_147_483_648)
    #expect(age(HTTPField("Date", "Fri, 31 Dec 9999 23:59:59 GMT")) == 0)
    let rules = CacheRules()
    for times in [(Int64.min, Int64.max), (.max, .min), (.min, .min), (.max, .max)] {
      let response = StoredResponse(
        status: 200, fields: [HTTPField("Last-Modified", date(0))],
        requestTime: HTTPDate(seconds: times.0), responseTime: HTTPDate(seconds: times.1),
        selection: .none, rules: rules)
      for now in [Int64.min, 0, .max] {
        let age = rules.currentAge(of: response, at: HTTPDate(seconds: now))
        #expect((0...DeltaSeconds.maximum).contains(age))
      }
      let lifetime = rules.freshnessLifetime(of: response)
      #expect((0...DeltaSeconds.maximum).contains(lifetime))
    }
  }
}
