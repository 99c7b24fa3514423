import HTTPSemantics
import Testing

struct TargetedDirectivesTests {
  private func directives(
    _ targeted: String, _ rest: HTTPField..., rules: CacheRules = .reverse
  ) -> ResponseDirectives {
    ResponseDirectives(
      HTTPFields([HTTPField("CDN-Cache-Control", targeted)] + rest), rules: rules)
  }

  @Test func `a valid targeted field takes the place of Cache-Control`() {
    let read = directives("max-age=10000", HTTPField("Cache-Control", "no-store, private"))
    #expect(read.isTargeted)
    #expect(read.maxAge == 10_000)
    #expect(!read.noStore && read.isPrivate == .absent)
  }

  @Test(arguments: [CacheRules(), .shared])
  func `a cache that does not work for an origin ignores CDN-Cache-Control`(rules: CacheRules) {
    let read = directives("max-age=10000", HTTPField("Cache-Control", "no-store"), rules: rules)
    #expect(!read.isTargeted)
    #expect(read.noStore && read.maxAge == nil)
  }

  @Test(
    arguments: [
      "", "  ", "max-age=10000, &&&&&", "max-age=\"10000\"", "max-age=10.0", "max-age=a",
      "max-age", "max-age=?1", "max-age=(1)", "MaX-aGe=10000", "max-age =10000",
      "max-age= 10000", "max-age=10000;", "max-age=10000,", "s-maxage=x", "max-age=1, s-maxage",
      "stale-if-error=\"1\"", "stale-while-revalidate", "max-age=1000000000000000",
    ])
  func `an invalid or empty targeted field is ignored as a whole`(text: String) {
    let read = directives(text, HTTPField("Cache-Control", "no-store"))
    #expect(!read.isTargeted)
    #expect(read.noStore)
    #expect(read.maxAge == nil)
  }

  @Test(
    arguments: [
      ("3600", 3600), ("0", 0), ("003600", 3600), ("-3600", 0), ("99999999999", 2_147_483_648),
      ("999999999999999", 2_147_483_648), ("10;a=b", 10),
    ] as [(String, Int64)])
  func `numbers are brought into the range of delta-seconds`(text: String, seconds: Int64) {
    #expect(directives("foobar, max-age=\(text), x=\"y\"").maxAge == seconds)
    #expect(directives("s-maxage=\(text)").sMaxAge == seconds)
    #expect(directives("stale-while-revalidate=\(text)").staleWhileRevalidate == seconds)
    #expect(directives("stale-if-error=\(text)").staleIfError == seconds)
  }

  @Test func `directives without argument are booleans, and false means that they are not there`() {
    let all = directives(
      "no-store, must-revalidate, proxy-revalidate=?1, must-understand, public, no-transform, "
        + "immutable, no-cache, private")
    #expect(all.noStore && all.mustRevalidate && all.proxyRevalidate && all.mustUnderstand)
    #expect(all.isPublic && all.immutable)
    #expect(all.noCache == .all && all.isPrivate == .all)
    var none = ResponseDirectives(cacheControl("x"), rules: .reverse)
    #expect(none == ResponseDirectives())
    none = directives("no-store=?0, private=?0, no-cache=?0, public=?0")
    #expect(none.isTargeted && !none.noStore && !none.isPublic)
    #expect(none.noCache == .absent && none.isPrivate == .absent)
  }

  @Test func `an argument of a wrong type makes what forbids count, and what permits not`() {
    let read = directives("no-store=1, public=1, private=1, no-cache=\"a, B\"")
    #expect(read.noStore && !read.isPublic)
    #expect(read.isPrivate == .all)
    #expect(read.noCache == .fields(["a", "b"]))
    #expect(directives("private=set-cookie").isPrivate == .fields(["set-cookie"]))
  }

  @Test func `the lines of a targeted field are one dictionary, in which the last member counts`() {
    let read = directives("max-age=1", HTTPField("cdn-cache-control", "max-age=2, no-cache"))
    #expect(read.maxAge == 2)
    #expect(read.noCache == .all)
  }

  @Test func `the first valid field of the list counts, whatever the order of the fields`() {
    var rules = CacheRules(role: .sharedCache)
    rules.targetedFields = ["Example-Cache-Control", "CDN-Cache-Control"]
    let own = HTTPField("example-cache-control", "max-age=5")
    #expect(directives("max-age=1", own, rules: rules).maxAge == 5)
    let invalid = HTTPField("Example-Cache-Control", "max-age=x")
    #expect(directives("max-age=1", invalid, rules: rules).maxAge == 1)
  }
}
