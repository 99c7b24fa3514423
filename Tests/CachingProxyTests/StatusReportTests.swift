import CacheFormat
import CacheStore
import Foundation
import Testing

@testable import CachingProxy

@Suite struct StatusReportTests {
  @Test func `The report has the names that are promised`() throws {
    let tested = try StatusUnderTest(limits: Limits(bytes: 1 << 20))
    tested.status.answered(Sample.record())
    try tested.put("http://origin.test/a", length: 10)
    let report = try tested.report()
    #expect(
      report.keys.sorted() == [
        "answers", "contents", "minutes", "proxy", "recent", "seconds", "startTime", "store",
        "time", "uptimeSeconds", "version",
      ])
    #expect(
      Self.names(report["proxy"]) == ["address", "isOffline", "mode", "origin", "role"])
    #expect(
      Self.names(report["store"]) == [
        "allocatedBytes", "damagedMisses", "entries", "evictions", "limitBytes", "limitEntries",
        "limitEntryBytes", "limitFreeBytes", "logicalBytes", "memoryBytes", "memoryEntries",
        "path", "pinnedEntries", "sharedBytes",
      ])
    #expect(
      Self.names(report["answers"]) == [
        "all", "bypass", "cutShort", "error", "fetchedBytes", "hit", "hitRate",
        "hitRateLast5Minutes", "miss", "perSecond", "revalidated", "savedBytes", "sentBytes",
        "stale",
      ])
    #expect(
      Self.names((report["seconds"] as? [Any])?.first) == [
        "all", "bypass", "error", "fetchedBytes", "hit", "miss", "revalidated", "sentBytes",
        "stale", "time",
      ])
    #expect(
      Self.names((report["recent"] as? [Any])?.first) == [
        "bytes", "cacheStatus", "client", "isComplete", "method", "microseconds", "outcome",
        "reason", "source", "status", "time", "url",
      ])
    #expect(
      Self.names(report["contents"]) == [
        "entries", "folders", "hosts", "largest", "oldest", "seconds", "time", "types",
      ])
  }

  @Test(arguments: [true, false])
  func `The report tells what kind of proxy it is`(isReverse: Bool) throws {
    let facts = Sample.facts(
      origin: isReverse ? "http://origin.test" : nil, isShared: isReverse, isOffline: !isReverse)
    let tested = try StatusUnderTest(facts: facts)
    tested.clock.advance(seconds: 75)
    let report = try tested.report()
    let proxy = report["proxy"] as? [String: Any]
    #expect(proxy?["role"] as? String == (isReverse ? "shared" : "private"))
    #expect(proxy?["mode"] as? String == (isReverse ? "reverse" : "forward"))
    #expect(proxy?["origin"] as? String == facts.origin)
    #expect(proxy?["isOffline"] as? Bool == !isReverse)
    #expect(report["uptimeSeconds"] as? Int == 75)
    #expect(report["startTime"] as? String == "2026-11-20T23:00:00.000000000Z")
  }

  @Test func `A clock that went back gives no negative uptime`() throws {
    let tested = try StatusUnderTest()
    tested.clock.advance(seconds: -100)
    #expect(try tested.report()["uptimeSeconds"] as? Int == 0)
  }

  @Test func `The sums of the store are those of the store`() throws {
    let tested = try StatusUnderTest(limits: Limits(bytes: 1 << 20, entries: 7))
    try tested.put("http://origin.test/a", length: 1000)
    try tested.put("http://origin.test/b", length: 24)
    let store = try tested.report()["store"] as? [String: Any]
    #expect(store?["entries"] as? Int == 2)
    #expect(store?["logicalBytes"] as? Int == 1024)
    #expect(store?["limitBytes"] as? Int == 1 << 20)
    #expect(store?["limitEntries"] as? Int == 7)
    #expect(store?["limitEntryBytes"] is NSNull)
    #expect(store?["path"] as? String == tested.path)
  }

  private static func names(_ value: Any?) -> [String] {
    (value as? [String: Any] ?? [:]).keys.sorted()
  }
}
