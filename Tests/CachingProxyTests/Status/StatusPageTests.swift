import CacheFormat
import CacheStore
import Foundation
import FoundationXML
import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite struct StatusPageTests {
  private static let hostile = [
    "http://origin.test/\"><script>alert(1)</script>",
    "http://origin.test/' onmouseover='alert(1)",
    "http://origin.test/</td></table></main><h1>gone</h1>",
    "http://origin.test/<!--", "http://origin.test/]]>", "http://origin.test/&lt;&amp;",
    "http://origin.test/<svg/onload=alert(1)>", "javascript:alert(1)",
  ]

  @Test func `The page has its parts, each named`() throws {
    let tested = try StatusUnderTest()
    tested.status.answered(Sample.record())
    try tested.put("http://origin.test/a", length: 10)
    let page = try Self.page(tested)
    #expect(try Self.texts("//h1", page) == ["OfflineCache"])
    #expect(
      try Self.texts("//h2", page) == [
        "Last 5 minutes", "Last hour", "Answers since the start", "Last answers", "The store",
      ])
    #expect(try page.nodes(forXPath: "//section[not(@aria-labelledby or @aria-label)]").isEmpty)
    #expect(try page.nodes(forXPath: "//th[not(@scope)]").isEmpty)
    #expect(try page.nodes(forXPath: "//svg[not(@aria-label or @aria-hidden)]").isEmpty)
    #expect(try page.nodes(forXPath: "//@style | //img | //iframe | //form").isEmpty)
    let links = try page.nodes(forXPath: "//@href | //@src").compactMap(\.stringValue)
    #expect(links == ["data:,", "/.offlinecache/sites", "/.offlinecache/status"])
    let labels = try page.nodes(forXPath: "//@aria-labelledby").compactMap(\.stringValue)
    let ids = try page.nodes(forXPath: "//@id").compactMap(\.stringValue)
    #expect(Set(labels).isSubset(of: ids))
    #expect(Set(ids).count == ids.count)
  }

  @Test func `The numbers on top are those of the traffic`() throws {
    let tested = try StatusUnderTest(clock: TestClock((Sample.second - 20) * 1_000_000_000))
    for back in 1...10 as ClosedRange<Int64> {
      for _ in 0..<3 {
        tested.status.answered(Sample.record(at: Sample.second - back, bytes: 1024))
      }
      tested.status.answered(
        Sample.record(at: Sample.second - back, bytes: 1024, Sample.miss, source: .network))
    }
    tested.clock.advance(bySeconds: 20)
    try tested.put("http://origin.test/a", length: 10)
    let page = try Self.page(tested)
    #expect(
      try Self.texts("//dd[@class='big']", page) == ["75.0 %", "4.0", "30.0 KiB", "1"])
    #expect(try Self.texts("//title", page).first == "75.0 % hits \u{B7} OfflineCache")
  }

  @Test func `After an hour the second chart shows a day`() throws {
    let tested = try StatusUnderTest()
    tested.status.answered(Sample.record())
    tested.clock.advance(bySeconds: 3600)
    #expect(try Self.texts("//h2", Self.page(tested))[1] == "Last 24 hours")
  }

  @Test func `Each outcome has its row, with answers and share`() throws {
    let tested = try StatusUnderTest()
    for _ in 0..<3 { tested.status.answered(Sample.record()) }
    tested.status.answered(Sample.record(status: 504, nil, source: .proxy, reason: "offline"))
    let rows = try Self.page(tested).nodes(forXPath: "//table[@class='counts']/tbody/tr")
    let cells = try rows.map { row in
      try row.nodes(forXPath: "*").prefix(3).compactMap(\.stringValue)
    }
    #expect(
      cells == [
        ["hit", "3", "75.0 %"], ["stale", "0", "0 %"], ["revalidated", "0", "0 %"],
        ["miss", "0", "0 %"], ["bypass", "0", "0 %"], ["error", "1", "25.0 %"],
      ])
  }

  @Test(arguments: hostile)
  func `A hostile URL or reason stays text`(text: String) throws {
    let tested = try StatusUnderTest(facts: Sample.facts(origin: nil))
    tested.status.answered(
      Sample.record(
        method: text, url: text, CacheStatus(cacheName: text, isHit: true), source: .disk,
        reason: text))
    try tested.put(text, length: 10, type: text)
    let page = try Self.page(tested)
    #expect(try page.nodes(forXPath: "//script").count == 1)
    #expect(try page.nodes(forXPath: "//main").count == 1)
    #expect(try page.nodes(forXPath: "//@*[starts-with(name(), 'on')]").isEmpty)
    #expect(try page.nodes(forXPath: "//comment()").isEmpty)
    #expect(
      try Self.texts("//td[@class='request']/span[@class='url']", page) == ["\(text) \(text)"])
    #expect(try Self.texts("//span[@class='reason']", page).first?.hasPrefix(text) == true)
    #expect(try Self.texts("//td[@class='url']", page).count == 2)
    _ = try tested.report()
  }

  @Test func `Hostile facts and a hostile path stay text`() throws {
    let facts = ProxyFacts(
      isShared: false, origin: Self.hostile[0], isOffline: true, address: Self.hostile[1])
    let page = try Self.page(try StatusUnderTest(facts: facts))
    #expect(try page.nodes(forXPath: "//script").count == 1)
    #expect(try Self.texts("//p[@class='lead']//code", page) == [Self.hostile[0]])
  }

  @Test func `Behind a reverse proxy URLs stand without the origin`() throws {
    let tested = try StatusUnderTest()
    tested.status.answered(Sample.record(url: "http://origin.test/a/b?c"))
    tested.status.answered(Sample.record(url: "http://origin.test.evil/"))
    let urls = try Self.texts("//td[@class='request']/span[@class='url']", Self.page(tested))
    #expect(urls == ["GET http://origin.test.evil/", "GET /a/b?c"])
  }

  @Test func `Every answer has a reason in words`() throws {
    let tested = try StatusUnderTest()
    tested.status.answered(Sample.record())
    tested.status.answered(Sample.record(source: .disk))
    tested.status.answered(Sample.record(Sample.miss, source: .network, isComplete: false))
    tested.status.answered(
      Sample.record(
        status: 504, nil, source: .proxy, reason: "504: http://origin.test/a: not stored"))
    let reasons = try Self.texts("//span[@class='reason']", Self.page(tested))
    #expect(
      reasons.map { $0.trimmingCharacters(in: .whitespaces) } == [
        "not stored", "from the origin not sent to its end", "from disk, fresh for 1 min",
        "from memory, fresh for 1 min",
      ])
  }

  @Test(
    arguments: [
      ("http://origin.test" as String?, "curl -i http://127.0.0.1:8080/"),
      (nil, "curl -i -x http://127.0.0.1:8080 http://example.org/"),
    ])
  func `A proxy that nobody has asked says how to use it`(origin: String?, command: String) throws {
    let page = try Self.page(try StatusUnderTest(facts: Sample.facts(origin: origin)))
    #expect(try Self.texts("//pre", page).first == command)
    #expect(try Self.texts("//dd[@class='big']", page) == ["\u{2013}", "0", "0 B", "0"])
    #expect(try page.nodes(forXPath: "//svg").isEmpty)
  }

  @Test func `Offline with an empty store, the page says what is missing`() throws {
    let page = try Self.page(try StatusUnderTest(facts: Sample.facts(isOffline: true)))
    #expect(try Self.texts("//p[@class='warning']", page).count == 1)
    #expect(try Self.texts("//p[@class='lead']", page).first?.contains("Offline") == true)
  }

  /// Reads the page with a strict parser.
  private static func page(_ tested: StatusUnderTest) throws -> XMLDocument {
    try XMLDocument(data: Data(tested.text("/.offlinecache/").utf8))
  }

  private static func texts(_ path: String, _ page: XMLDocument) throws -> [String] {
    try page.nodes(forXPath: path).compactMap(\.stringValue)
  }
}
