import HTTPSemantics
import Testing

struct ResponseFactsTests {
  private func facts(_ fields: HTTPField..., rules: CacheRules = CacheRules()) -> ResponseFacts {
    ResponseFacts(HTTPFields(fields), rules: rules, now: received)
  }

  @Test func `all facts are found, whatever the case of the names and among other fields`() {
    let read = facts(
      HTTPField("X-Date", date(5)), HTTPField("dATE", date(-10)), HTTPField("AGE", "20"),
      HTTPField("expires", date(30)), HTTPField("LAST-modified", date(-40)),
      HTTPField("eTag", "\"a\""), HTTPField("cache-CONTROL", "max-age=50"),
      HTTPField("Cache-Control", "no-store"), HTTPField("", "x"), HTTPField("Tags", "\"b\""))
    #expect(read.date == later(-10))
    #expect(read.age == 20)
    #expect(read.expires == .at(later(30)))
    #expect(read.lastModified == later(-40))
    #expect(read.entityTag == EntityTag(Array("\"a\"".utf8)))
    #expect(read.directives.maxAge == 50 && read.directives.noStore)
  }

  @Test func `without fields there are no facts`() {
    let read = facts()
    #expect(read.date == nil && read.age == 0 && read.expires == .absent)
    #expect(read.lastModified == nil && read.entityTag == nil)
    #expect(read.directives == ResponseDirectives())
  }

  @Test func `of several lines the first counts, even if it is malformed`() {
    let read = facts(
      HTTPField("Date", "x"), HTTPField("Date", date(0)), HTTPField("Expires", "0"),
      HTTPField("Expires", date(100)), HTTPField("Last-Modified", ""),
      HTTPField("Last-Modified", date(0)), HTTPField("Age", "x"), HTTPField("Age", "9"),
      HTTPField("ETag", "\"a\""), HTTPField("ETag", "\"b\""))
    #expect(read.date == nil)
    #expect(read.expires == .invalid)
    #expect(read.lastModified == nil)
    #expect(read.age == 0)
    #expect(read.entityTag?.bytes == Array("\"a\"".utf8))
  }

  @Test(
    arguments: [
      (["7200"], 7200), (["0"], 0), (["007"], 7), (["2147483647"], 2_147_483_647),
      (["2147483648"], 2_147_483_648), (["2147483649"], 2_147_483_648),
      (["7200, 0"], 7200), (["0, 7200"], 0), (["7200 ,x"], 7200), (["7200", "0"], 7200),
      (["0", "7200"], 0), (["0, 0"], 0), (["abc"], 0), (["-7200"], 0), (["7200.0"], 0),
      (["+7200"], 0), (["7200;foo=111"], 0), ([""], 0), ([", 7200"], 0), (["\"7200\""], 0),
    ] as [([String], Int64)])
  func `the first member of the first Age counts, and what is no number does not`(
    lines: [String], expected: Int64
  ) {
    let fields = HTTPFields(lines.map { HTTPField("Age", $0) })
    #expect(ResponseFacts(fields, rules: CacheRules(), now: received).age == expected)
  }

  @Test(
    arguments: ["", "0", "-1", "never"])
  func `an Expires that is no date counts as one in the past`(text: String) {
    #expect(facts(HTTPField("Expires", text)).expires == .invalid)
  }

  @Test func `a targeted field takes the place of Cache-Control and Expires, if it is valid`() {
    let fields: (String) -> ResponseFacts = { value in
      self.facts(
        HTTPField("Expires", "0"), HTTPField("cdn-cache-control", value),
        HTTPField("Cache-Control", "no-store"), rules: .reverse)
    }
    #expect(fields("max-age=5").expires == .absent)
    #expect(fields("max-age=5").directives.maxAge == 5)
    #expect(!fields("max-age=5").directives.noStore)
    #expect(fields("max-age=x").expires == .invalid)
    #expect(fields("max-age=x").directives.noStore)
    #expect(!fields("max-age=x").directives.isTargeted)
  }

  @Test func `the content range of a 206 is read, and of nothing else`() {
    let fields: HTTPFields = [HTTPField("Content-Range", "bytes 0-4/10")]
    #expect(stored(fields, status: 206).contentRange?.count == 5)
    #expect(stored(fields, status: 200).contentRange == nil)
  }
}
