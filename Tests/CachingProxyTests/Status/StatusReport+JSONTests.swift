import CacheFormat
import CacheStore
import Foundation
import HTTPSemantics
import TestSupport
import Testing

@testable import CachingProxy

@Suite struct StatusReportJSONTests {
  @Test func `The report has the names that are promised`() throws {
    let tested = try StatusUnderTest(limits: Limits(bytes: 1 << 20))
    tested.status.answered(Sample.record())
    try tested.put("http://origin.test/a", length: 10)
    let report = try tested.report()
    #expect(
      report.keys.sorted() == [
        "answers", "contents", "minutes", "proxy", "recent", "remote", "seconds", "start_time",
        "store", "time", "tunnels", "uptime_seconds", "version",
      ])
    #expect(
      Self.names(report["tunnels"]) == [
        "all", "left_alone", "open", "received_bytes", "sent_bytes",
      ])
    #expect(
      Self.names(report["proxy"]) == [
        "address", "mode", "offline", "origin", "role",
      ])
    #expect(
      Self.names(report["store"]) == [
        "allocated_bytes", "damaged_misses", "entries", "evictions", "limit_bytes", "limit_entries",
        "limit_entry_bytes", "limit_free_bytes", "logical_bytes",
        "path", "pinned_entries", "shared_bytes", "unsettled_entries",
      ])
    #expect(
      Self.names(report["answers"]) == [
        "all", "bypass", "cut_short", "error", "fetched_bytes", "hit", "hit_rate",
        "hit_rate_of_5_minutes", "miss", "not_stored", "per_second", "revalidated", "saved_bytes",
        "sent_bytes",
        "stale",
      ])
    #expect(
      Self.names((report["seconds"] as? [Any])?.first) == [
        "all", "bypass", "error", "fetched_bytes", "hit", "miss", "revalidated", "sent_bytes",
        "stale", "time",
      ])
    #expect(
      Self.names((report["recent"] as? [Any])?.first) == [
        "bytes", "cache_status", "client", "complete", "method", "microseconds", "outcome",
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
    tested.clock.advance(bySeconds: 75)
    let report = try tested.report()
    let proxy = report["proxy"] as? [String: Any]
    #expect(proxy?["role"] as? String == (isReverse ? "shared" : "private"))
    #expect(proxy?["mode"] as? String == (isReverse ? "reverse" : "forward"))
    #expect(proxy?["origin"] as? String == facts.origin)
    #expect(proxy?["offline"] as? Bool == !isReverse)
    #expect(report["uptime_seconds"] as? Int == 75)
    #expect(report["start_time"] as? String == "2026-11-20T23:00:00.000000000Z")
  }

  @Test func `A clock that went back gives no negative uptime`() throws {
    let tested = try StatusUnderTest()
    tested.clock.advance(bySeconds: -100)
    #expect(try tested.report()["uptime_seconds"] as? Int == 0)
  }

  @Test func `The sums of the store are those of the store`() throws {
    let tested = try StatusUnderTest(limits: Limits(bytes: 1 << 20, entries: 7))
    try tested.put("http://origin.test/a", length: 1000)
    try tested.put("http://origin.test/b", length: 24)
    let store = try tested.report()["store"] as? [String: Any]
    #expect(store?["entries"] as? Int == 2)
    #expect(store?["logical_bytes"] as? Int == 1024)
    #expect(store?["limit_bytes"] as? Int == 1 << 20)
    #expect(store?["limit_entries"] as? Int == 7)
    #expect(store?["limit_entry_bytes"] is NSNull)
    #expect(store?["path"] as? String == tested.path)
  }

  private static func names(_ value: Any?) -> [String] {
    (value as? [String: Any] ?? [:]).keys.sorted()
  }

  @Test(arguments: [
    "\"}],\"version\":2,\"x\":[{\"", "\\", "\u{0}\u{1}\u{1F}\u{7F}", "\u{2028}\u{2029}",
    "a\r\nb\tc",
    "ü€😀", "\u{FEFF}", "</script>",
  ])
  func `Whatever a client or a server sends stays one text in the report`(text: String) throws {
    let tested = try StatusUnderTest()
    var record = Sample.record(
      method: text, url: text, Sample.forwarded(.uriMiss), source: .network, reason: text)
    record.clientAddress = text
    record.cacheStatus?.detail = text
    tested.status.answered(record)
    let report = try tested.report(refusedHosts: [text])
    #expect(report["version"] as? Int == 1)
    let recent = try #require((report["recent"] as? [[String: Any]])?.first)
    for name in ["method", "url", "reason", "client"] {
      #expect(recent[name] as? String == text, "\(name)")
    }
    #expect(recent["cache_status"] as? String == record.cacheStatus?.description)
    let tunnels = report["tunnels"] as? [String: Any]
    #expect((tunnels?["left_alone"] as? [[String: String]]) == [["host": text]])
  }

  @Test func `A long text is cut between characters`() throws {
    for offset in 0..<4 {
      let tested = try StatusUnderTest()
      let text = String(repeating: "a", count: offset) + String(repeating: "😀", count: 5000)
      tested.status.answered(Sample.record(method: text, url: text, reason: text))
      let recent = try #require((try tested.report()["recent"] as? [[String: Any]])?.first)
      for name in ["url", "reason", "method"] {
        let shown = try #require(recent[name] as? String)
        #expect(shown.hasSuffix("😀…") && text.hasPrefix(shown.dropLast()), "\(name)")
        let count = shown.dropLast().utf8.count
        #expect(count <= Traffic.keptTextBytes && count > Traffic.keptTextBytes - 4, "\(name)")
      }
    }
  }

  @Test func `The largest numbers and the first and last times are numbers and times`() throws {
    for second in [Int64.min / 1_000_000_000, 0, Int64.max / 1_000_000_000] {
      let tested = try StatusUnderTest(clock: TestClock(second * 1_000_000_000))
      tested.status.answered(
        Sample.record(at: second, status: 999, bytes: .max, microseconds: .max))
      let report = try tested.report()
      #expect(report["uptime_seconds"] as? Int == 0)
      let recent = try #require((report["recent"] as? [[String: Any]])?.first)
      #expect(recent["bytes"] as? Int == .max && recent["microseconds"] as? Int == .max)
      #expect(recent["time"] as? String == report["time"] as? String)
    }
  }

  @Test func `Without an answer there is no rate, and no second has any`() throws {
    let report = try StatusUnderTest().report()
    let answers = report["answers"] as? [String: Any]
    #expect(answers?["hit_rate"] is NSNull && answers?["hit_rate_of_5_minutes"] is NSNull)
    #expect(answers?["per_second"] as? Double == 0)
    #expect((report["seconds"] as? [Any])?.isEmpty == true)
    #expect(report["remote"] is NSNull)
  }
}
