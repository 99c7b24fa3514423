import HTTPSemantics
import Testing

struct RequestDirectivesTests {
  @Test func `every directive is read, whatever its case, over several lines`() {
    let read = RequestDirectives([
      HTTPField("CACHE-CONTROL", "Max-Age=1, max-stale=2,min-fresh=\"3\""),
      HTTPField("Cache-Control", "stale-if-error=4, no-cache, NO-STORE, foo"),
      HTTPField("cache-control", "no-transform,only-if-cached"),
    ])
    var expected = RequestDirectives()
    expected.maxAge = 1
    expected.maxStale = .seconds(2)
    expected.minFresh = 3
    expected.staleIfError = 4
    expected.noCache = true
    expected.noStore = true
    expected.onlyIfCached = true
    #expect(read == expected)
  }

  @Test func `no directives, empty ones and unknown ones ask for nothing`() {
    #expect(RequestDirectives([]) == RequestDirectives())
    #expect(asking(" , foo=1, public") == RequestDirectives())
  }

  @Test func `max-stale without an argument means any staleness`() {
    #expect(asking("max-stale").maxStale == .any)
    #expect(asking("max-stale=0").maxStale == .seconds(0))
    #expect(asking("max-stale=5, max-stale").maxStale == .seconds(5))
  }

  @Test(
    arguments: ["", "x", "-1", "1.5", "'1'"])
  func `a malformed argument counts the cautious way`(argument: String) {
    let read = asking(
      "max-age=\(argument), min-fresh=\(argument), stale-if-error=\(argument), "
        + "max-stale=\(argument)")
    #expect(read.maxAge == 0)
    #expect(read.minFresh == DeltaSeconds.maximum)
    #expect(read.staleIfError == 0)
    // Nothing is stale by less than no second.
    #expect(read.maxStale == .seconds(-1))
  }

  @Test func `of two directives of one name the first counts`() {
    let read = asking(
      "max-age=1, max-age=2, min-fresh=3, min-fresh=4, stale-if-error=5, stale-if-error=6, "
        + "max-stale=7, max-stale=8")
    #expect(read.maxAge == 1 && read.minFresh == 3 && read.staleIfError == 5)
    #expect(read.maxStale == .seconds(7))
  }

  @Test func `Pragma: no-cache counts where there is no Cache-Control`() {
    #expect(RequestDirectives([HTTPField("pragma", "x=y, No-Cache")]).noCache)
    #expect(
      RequestDirectives([HTTPField("Pragma", "no-cache"), HTTPField("Pragma", "x=y")]).noCache)
    #expect(!RequestDirectives([HTTPField("Pragma", "unrecognised-extension")]).noCache)
    #expect(!RequestDirectives([HTTPField("Pragma", "\"no-cache\"")]).noCache)
    #expect(
      !RequestDirectives([
        HTTPField("Pragma", "no-cache"), HTTPField("Cache-Control", "max-age=5"),
      ]).noCache)
  }

  @Test func `Pragma brings no other directive`() {
    #expect(RequestDirectives([HTTPField("Pragma", "no-store, max-age=0")]) == RequestDirectives())
  }
}
