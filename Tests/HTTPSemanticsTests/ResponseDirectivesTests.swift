import HTTPSemantics
import TestSupport
import Testing

struct ResponseDirectivesTests {
  private func directives(
    _ lines: String..., rules: CacheRules = CacheRules()
  ) -> ResponseDirectives {
    ResponseDirectives(HTTPFields(lines.map { HTTPField("cache-CONTROL", $0) }), rules: rules)
  }

  @Test func `every directive is read, whatever its case and order, over several lines`() {
    var expected = ResponseDirectives()
    expected.maxAge = 1
    expected.sMaxAge = 2
    expected.staleWhileRevalidate = 3
    expected.staleIfError = 4
    expected.noStore = true
    expected.mustRevalidate = true
    expected.proxyRevalidate = true
    expected.mustUnderstand = true
    expected.isPublic = true
    expected.immutable = true
    expected.noCache = .all
    expected.isPrivate = .all
    #expect(
      directives(
        "MaX-aGe=1,s-maxage=2 , Stale-While-Revalidate=3,stale-if-error=4", "No-StOrE, x=y",
        "must-revalidate,proxy-revalidate,must-understand,public", "no-transform,immutable,,",
        "no-cache,private") == expected)
  }

  @Test func `no Cache-Control, an empty one and unknown directives say nothing`() {
    #expect(ResponseDirectives([], rules: CacheRules()) == ResponseDirectives())
    #expect(directives("", " , ", "foo, max-agee=1, max-ag=1, xmax-age=1") == ResponseDirectives())
    #expect(directives(String(repeating: "x", count: 5000) + "=1") == ResponseDirectives())
    #expect(directives("max-stale=5, only-if-cached, min-fresh=1") == ResponseDirectives())
  }

  @Test(
    arguments: [
      ("max-age=3600", 3600), ("max-age=\"3600\"", 3600), ("max-age=003600", 3600),
      ("max-age=0", 0), ("max-age=2147483647", 2_147_483_647),
      ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999", 2_147_483_648),
      ("max-age=-3600", 0), ("max-age='3600'", 0), ("max-age=3600a", 0), ("max-age=a3600", 0),
      ("max-age=3600.0", 0), ("max-age=3600.5", 0), ("max-age =3600", 0), ("max-age= 3600", 0),
      ("max-age", 0), ("max-age=", 0), ("max-age=\"\"", 0), ("max-age=\"3600", 0),
      ("max-age=\"36\\00\"", 0), ("max-age=\"3600\"x", 0), ("max-age=\" 3600\"", 0),
      ("max-age:3600", 0), ("max-age 3600", 0), ("max-age=3600 s", 0),
      ("max-age=3600; must-revalidate", 0), ("max-age=3,600", 3),
    ] as [(String, Int64)])
  func `a lifetime may be quoted, padded with zeros and too large, and otherwise counts as 0`(
    text: String, seconds: Int64
  ) {
    #expect(directives(text).maxAge == seconds)
    let shared = text.replacing("max-age", with: "s-maxage")
    #expect(directives(shared).sMaxAge == seconds)
    #expect(directives(shared).maxAge == nil)
  }

  @Test func `of two lifetimes the first counts, in one line or in two, even if it is malformed`() {
    #expect(directives("max-age=1, max-age=1800").maxAge == 1)
    #expect(directives("max-age=1800", "max-age=1").maxAge == 1800)
    #expect(directives("max-age=x, max-age=1800").maxAge == 0)
    #expect(directives("s-maxage=1, s-maxage=2").sMaxAge == 1)
    #expect(directives("stale-if-error=1, stale-if-error=2").staleIfError == 1)
    #expect(
      directives("stale-while-revalidate=1", "stale-while-revalidate=2").staleWhileRevalidate == 1)
  }

  @Test func `a permission is not taken back by its malformed repetition`() {
    #expect(directives("public, immutable", "public=x, immutable=x").isPublic)
    #expect(directives("public, immutable", "public=x, immutable=x").immutable)
  }

  @Test func `what stands in a quoted string is no directive`() {
    #expect(directives("extension=\"max-age=3600\", max-age=1").maxAge == 1)
    #expect(directives("max-age=1, extension=\"max-age=3600\"").maxAge == 1)
    #expect(directives("extension=\"a, max-age=3600, b\"").maxAge == nil)
    #expect(!directives("x=\"\\\", no-store\"").noStore)
    #expect(directives("x=\"\\\\\", no-store").noStore)
  }

  @Test func `a quote that is never closed does not hide what forbids`() {
    #expect(directives("x=\"y, no-store, private").noStore)
    #expect(directives("x=\"y, no-store, private").isPrivate == .all)
  }

  @Test func `what forbids counts with any argument, what permits only without one`() {
    let forbidding = directives(
      "no-store=x, must-revalidate=\"\", proxy-revalidate =1, no-transform foo")
    #expect(forbidding.noStore && forbidding.mustRevalidate)
    #expect(forbidding.proxyRevalidate)
    #expect(directives("public=x, immutable=1, must-understand=\"\"") == ResponseDirectives())
    #expect(directives("stale-while-revalidate, stale-if-error=x").staleWhileRevalidate == 0)
    #expect(directives("stale-while-revalidate, stale-if-error=x").staleIfError == 0)
  }

  @Test(
    arguments: [
      ("\"Set-Cookie\"", FieldList.fields(["set-cookie"])),
      ("Set-Cookie", .fields(["set-cookie"])), ("\"a, B ,c\"", .fields(["a", "b", "c"])),
      ("\",a,,\"", .fields(["a"])), ("\"\"", .all), ("", .all), ("\",\"", .all),
      ("\"a b\"", .all), ("\"a:\"", .all), ("\"a\\b\"", .all), ("\"a\"b", .all), (" a", .all),
      ("\"a", .all),
    ])
  func `field names limit no-cache and private to these fields`(
    argument: String, expected: FieldList
  ) {
    #expect(directives("no-cache=\(argument)").noCache == expected)
    #expect(directives("private=\(argument)").isPrivate == expected)
  }

  @Test func `several field lists add up, and one without names takes in the whole response`() {
    #expect(directives("no-cache=a", "no-cache=\"b,a\"").noCache == .fields(["a", "b"]))
    #expect(directives("no-cache=a, no-cache").noCache == .all)
    #expect(directives("private, private=a").isPrivate == .all)
  }

  @Test func `more field names than the limit count as the whole response`() {
    func list(_ range: Range<Int>) -> String {
      "no-cache=\"" + range.map { "f\($0)" }.joined(separator: ",") + "\""
    }
    let most = FieldList.maximumNames
    #expect(directives(list(0..<most)).noCache == .fields((0..<most).map { "f\($0)" }))
    #expect(directives(list(0..<(most + 1))).noCache == .all)
    #expect(directives(list(0..<most), list(1..<(most + 1))).noCache == .all)
    #expect(directives(list(0..<most), list(0..<most)).noCache != .all)
  }

  @Test func `names are found in a field list without regard to case`() {
    let list = FieldList.fields(["set-cookie"])
    #expect(list.names("Set-Cookie"))
    #expect(!list.names("Cookie"))
    #expect(!FieldList.all.names("a") && !FieldList.absent.names("a"))
    #expect(FieldList.all.isAll && !list.isAll && !FieldList.absent.isAll)
  }

  @Test(
    arguments: 1...20)
  func `junk is read without a crash, and numbers stay in their range`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let pieces = [
      "max-age", "s-maxage", "no-cache", "=", "\"", "\\", ",", " ", "1", "99999999999", "-", "a",
      "\0", "ä", "\t", "private", "stale-if-error",
    ]
    for _ in 0..<200 {
      let count = Int.random(in: 0...12, using: &random)
      let line = (0..<count).compactMap { _ in pieces.randomElement(using: &random) }.joined()
      let read = directives(line)
      for seconds in [read.maxAge, read.sMaxAge, read.staleIfError].compactMap({ $0 }) {
        #expect((0...DeltaSeconds.maximum).contains(seconds), "\(line)")
      }
    }
  }
}
