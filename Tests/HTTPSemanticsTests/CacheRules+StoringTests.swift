import HTTPSemantics
import Testing

struct CacheRulesStoringTests {
  private let roles = [CacheRules(), .shared]

  private func reason(
    _ fields: HTTPFields, status: Int = 200, method: HTTPMethod = .get, request: HTTPFields = [],
    rules: CacheRules = CacheRules()
  ) throws -> NotStoredReason? {
    let url = try NormalizedURL("http://a/")
    return rules.whyNotStored(
      HTTPRequest(method: method, url: url, fields: request),
      HTTPResponseHead(status: status, fields: fields), now: received)
  }

  @Test func `a plain 200 is stored: it can be validated, or be used while there is no connection`()
    throws
  {
    for rules in roles { #expect(try reason([], rules: rules) == nil) }
  }

  @Test(
    arguments: ["HEAD", "POST", "PUT", "get", "M-SEARCH"])
  func `only responses to GET are stored, if those to POST do not say that they are for GET`(
    name: String
  ) throws {
    let found = try reason(cacheControl("max-age=10"), method: HTTPMethod(rawValue: name))
    #expect(found == .method(name))
  }

  @Test func `the answer to a POST is stored for GET if it says so and how long it is fresh`()
    throws
  {
    func reason(
      _ control: String, _ places: [String], _ method: HTTPMethod = .post, status: Int = 200,
      _ rules: CacheRules = CacheRules()
    ) throws -> NotStoredReason? {
      var fields = cacheControl(control)
      for place in places { fields.append(HTTPField("Content-Location", place)) }
      return try self.reason(fields, status: status, method: method, rules: rules)
    }
    for place in ["", "/", "http://A:80/", "//a"] {
      for rules in roles { #expect(try reason("max-age=10", [place], .post, rules) == nil) }
    }
    #expect(try reason("s-maxage=10", ["/"], .post, .shared) == nil)
    for (control, places) in [
      ("s-maxage=10", ["/"]), ("public", ["/"]), ("", ["/"]), ("max-age=10", []),
      ("max-age=10", ["/b"]), ("max-age=10", ["https://a/"]), ("max-age=10", ["/", "/"]),
      ("max-age=10", ["http://b/"]), ("max-age=10", ["http://["]),
    ] {
      #expect(try reason(control, places) == .method("POST"), "\(control) \(places)")
    }
    #expect(try reason("max-age=10", ["/"], HTTPMethod(rawValue: "PUT")) == .method("PUT"))
    #expect(try reason("max-age=10", ["/"], .post, status: 201) == .method("POST"))
    #expect(try reason("max-age=10, no-store", ["/"]) == .noStoreResponse)
    #expect(try reason("max-age=10, private", ["/"], .post, .shared) == .privateResponse)
  }

  @Test(
    arguments: [100, 101, 102, 103, 199, 304, 412, 416, 0, -1, 1000])
  func `interim responses and answers to conditions and ranges are not stored`(status: Int) throws {
    #expect(try reason(cacheControl("max-age=10, public"), status: status) == .status(status))
  }

  @Test(
    arguments: [200, 201, 299, 302, 303, 307, 308, 400, 403, 404, 429, 499, 500, 503, 599, 999])
  func `with an explicit lifetime every other final status is stored`(status: Int) throws {
    for rules in roles {
      #expect(try reason(cacheControl("max-age=10"), status: status, rules: rules) == nil)
      #expect(try reason(cacheControl("public"), status: status, rules: rules) == nil)
      #expect(try reason([HTTPField("Expires", date(5))], status: status, rules: rules) == nil)
    }
  }

  @Test(
    arguments: 200...599)
  func `without one only heuristically cacheable statuses are`(status: Int) throws {
    let known: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
    guard ![206, 304, 412, 416].contains(status) else { return }
    let expected = known.contains(status) ? nil : NotStoredReason.noExplicitFreshness(status)
    #expect(try reason([HTTPField("Last-Modified", date(-5))], status: status) == expected)
  }

  @Test(
    arguments: [
      "text/event-stream", "Text/Event-Stream; charset=utf-8",
      "multipart/x-mixed-replace;boundary=a",
    ])
  func `a stream without an end is not stored`(type: String) throws {
    for directives in ["max-age=10", "no-cache", "public"] {
      var fields = cacheControl(directives)
      fields.append(HTTPField("Content-Type", type))
      for rules in roles { #expect(try reason(fields, rules: rules) == .endless) }
      // With a length, it has an end.
      fields.append(HTTPField("Content-Length", "10"))
      for rules in roles { #expect(try reason(fields, rules: rules) == nil) }
    }
    #expect(
      !CacheRules.withHistory.mayRemember(
        HTTPResponseHead(status: 200),
        to: HTTPRequest(url: try NormalizedURL("http://a.test/")), notStored: .endless))
  }

  @Test
  func `private says explicitly that private caches may store, s-maxage that shared ones may`()
    throws
  {
    let ofPrivate = cacheControl("private")
    #expect(try reason(ofPrivate, status: 201) == nil)
    let ofFields = cacheControl("private=\"a\"")
    #expect(try reason(ofFields, status: 201) == nil)
    #expect(try reason(ofFields, status: 201, rules: .shared) == .noExplicitFreshness(201))
    let ofShared = cacheControl("s-maxage=5")
    #expect(try reason(ofShared, status: 201, rules: .shared) == nil)
    #expect(try reason(ofShared, status: 201) == .noExplicitFreshness(201))
  }

  @Test(
    arguments: [CacheRules(), .shared])
  func `no-store of either side forbids to store`(rules: CacheRules) throws {
    #expect(try reason(cacheControl("No-StOrE"), rules: rules) == .noStoreResponse)
    #expect(
      try reason(cacheControl("max-age=10, public, no-store"), rules: rules) == .noStoreResponse)
    #expect(
      try reason(cacheControl("max-age=10"), request: cacheControl("no-store"), rules: rules)
        == .noStoreRequest)
  }

  @Test func `must-understand goes before no-store, and asks for a known status`() throws {
    let fields = cacheControl("max-age=3600, no-store, must-understand")
    #expect(try reason(fields) == nil)
    #expect(try reason(fields, status: 404) == nil)
    #expect(try reason(fields, status: 599) == .notUnderstood(599))
    #expect(try reason(cacheControl("must-understand"), status: 299) == .notUnderstood(299))
    #expect(
      try reason(fields, request: cacheControl("no-store")) == .noStoreRequest)
  }

  @Test func `private keeps a response out of shared caches unless it names fields`() throws {
    #expect(try reason(cacheControl("private, max-age=10")) == nil)
    #expect(
      try reason(cacheControl("private, max-age=10"), rules: .shared) == .privateResponse)
    #expect(try reason(cacheControl("private=\"a\", max-age=10"), rules: .shared) == nil)
    #expect(
      try reason(cacheControl("private=\"\", max-age=10"), rules: .shared) == .privateResponse)
    #expect(
      try reason(
        [HTTPField("CDN-Cache-Control", "private"), HTTPField("Cache-Control", "max-age=10")],
        rules: .reverse) == .privateResponse)
  }

  @Test(
    arguments: [
      ("max-age=10", false), ("max-age=10, proxy-revalidate", false), ("max-age=10, public", true),
      ("max-age=10, must-revalidate", true), ("s-maxage=10", true), ("s-maxage=x", false),
      ("max-age=10, public=x", false),
    ])
  func `with Authorization a shared cache stores only what allows it`(
    directives: String, isStored: Bool
  ) throws {
    let request: HTTPFields = [HTTPField("authorization", "FOO")]
    let fields = cacheControl(directives)
    #expect(
      try reason(fields, request: request, rules: .shared) == (isStored ? nil : .authorization))
    #expect(try reason(fields, request: request) == nil)
  }

  @Test(
    arguments: ["*", ", *", "A, *", "a b"])
  func `a response that varies on everything is not stored`(vary: String) throws {
    #expect(try reason([HTTPField("Vary", vary)]) == .varyAll)
    #expect(try reason([HTTPField("Vary", "Accept"), HTTPField("vary", vary)]) == .varyAll)
    #expect(try reason([HTTPField("Vary", "Accept, *-x")]) == nil)
  }

  @Test func `a part is stored if it was asked for and tells its place`() throws {
    let range: HTTPFields = [HTTPField("Range", "bytes=0-4")]
    let part: HTTPFields = [HTTPField("Content-Range", "bytes 0-4/10")]
    #expect(try reason(part, status: 206, request: range) == nil)
    #expect(try reason(part, status: 206) == .partNotRequested)
    #expect(try reason([], status: 206, request: range) == .partial(.noContentRange))
    #expect(
      try reason([HTTPField("Content-Range", "x")], status: 206, request: range)
        == .partial(.malformedContentRange))
  }

  @Test func `a targeted field decides on storing`() throws {
    let fields: HTTPFields = [
      HTTPField("Cache-Control", "no-store"), HTTPField("CDN-Cache-Control", "max-age=10"),
    ]
    #expect(try reason(fields, rules: .reverse) == nil)
    #expect(try reason(fields, rules: .shared) == .noStoreResponse)
    #expect(try reason(fields) == .noStoreResponse)
  }

  @Test(
    arguments: [
      (NotStoredReason.method("PUT"), "PUT"), (.status(304), "304"),
      (.noStoreRequest, "request says no-store"), (.noStoreResponse, "response says no-store"),
      (.privateResponse, "private"), (.authorization, "Authorization"),
      (.notUnderstood(599), "599"), (.varyAll, "Vary"), (.noExplicitFreshness(201), "201"),
      (.endless, "without an end"),
      (.partNotRequested, "range"), (.partial(.noContentRange), "Content-Range"),
    ])
  func `every reason says what it is`(reason: NotStoredReason, part: String) {
    #expect(reason.description.contains(part))
  }
}
