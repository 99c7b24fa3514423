import CacheFormat
import CacheStore
import HTTPSemantics
import Testing

@testable import CachingProxy

@Suite struct TrafficTests {
  private let now = Timestamp(nanoseconds: Sample.second * 1_000_000_000)

  @Test func `Answers are summed up by outcome`() {
    let traffic = Traffic()
    traffic.add(Sample.record(bytes: 1000))
    traffic.add(Sample.record(bytes: 500))
    var miss = Sample.record(bytes: 300, Sample.miss, source: .network)
    miss.storingFailure = StoreError(.noSpace, path: "/", cause: "", remedy: "")
    traffic.add(miss)
    traffic.add(Sample.record(bytes: 7, Sample.forwarded(.method), source: .network))
    traffic.add(Sample.record(status: 504, bytes: 10, nil, source: .proxy, isComplete: false))
    let total = traffic.report(at: now).total
    #expect(total.all == 5)
    #expect(AnswerOutcome.allCases.map { total[$0] } == [2, 0, 0, 1, 1, 1])
    #expect(total.sentBytes == 1817)
    #expect(total.fetchedBytes == 307)
    #expect(total.savedBytes == 1510)
    #expect(total.cutShort == 1)
    #expect(total.notStored == 1)
    // The POST cannot come from a store, so two of four could and did.
    #expect(total.hitRate == 0.5)
  }

  @Test func `There is no hit rate without answers that a cache may give`() {
    let traffic = Traffic()
    #expect(traffic.report(at: now).total.hitRate == nil)
    traffic.add(Sample.record(Sample.forwarded(.method), source: .network))
    #expect(traffic.report(at: now).total.hitRate == nil)
  }

  @Test func `An answer belongs to the second in which it ended`() throws {
    let traffic = Traffic()
    traffic.add(Sample.record(at: Sample.second - 10, microseconds: 3_400_000))
    let report = traffic.report(at: now)
    let span = try #require(report.seconds.first { $0.counts.all == 1 })
    #expect(span.start == Sample.second - 7)
    #expect(report.seconds.count == 300)
    #expect(report.seconds.last?.start == Sample.second)
    #expect(report.minutes.count == 1440)
    #expect(report.minutes.map(\.counts.all).reduce(0, +) == 1)
  }

  @Test func `What is older than a ring is not in it`() {
    let traffic = Traffic()
    for back in [1441 * 60, 1439 * 60, 301, 300, 299, 0] as [Int64] {
      traffic.add(Sample.record(at: Sample.second - back))
    }
    let report = traffic.report(at: now)
    #expect(report.seconds.map(\.counts.all).filter { $0 > 0 } == [1, 1])
    #expect(report.seconds.first?.counts.all == 1)
    #expect(report.minutes.first?.counts.all == 1)
    #expect(report.minutes.map(\.counts.all).reduce(0, +) == 5)
    let later = traffic.report(at: now.advanced(bySeconds: 3 * 86_400))
    #expect(later.seconds.allSatisfy { $0.counts.all == 0 })
    #expect(later.minutes.allSatisfy { $0.counts.all == 0 })
    #expect(later.total.all == 6)
  }

  @Test func `A clock that goes back loses no more than what it went back over`() {
    let traffic = Traffic()
    traffic.add(Sample.record(at: Sample.second))
    traffic.add(Sample.record(at: Sample.second - 100))
    let earlier = Timestamp(nanoseconds: (Sample.second - 100) * 1_000_000_000)
    #expect(traffic.report(at: earlier).last(seconds: 1).all == 0)
    #expect(traffic.report(at: earlier).seconds.last?.counts.all == 1)
    #expect(traffic.report(at: now).seconds.last?.counts.all == 1)
  }

  @Test(arguments: [Int64.min, -1, 0, Int64.max])
  func `No time of an answer is too odd`(nanoseconds: Int64) {
    let traffic = Traffic()
    var record = Sample.record(microseconds: .max)
    record.time = Timestamp(nanoseconds: nanoseconds)
    record.bytesSent = .max
    traffic.add(record)
    traffic.add(record)
    let report = traffic.report(at: record.time)
    #expect(report.total.all == 2)
    #expect(report.seconds.count == 300)
  }

  @Test func `The last two hundred answers stay, the newest first`() {
    let traffic = Traffic()
    for number in 0..<450 { traffic.add(Sample.record(url: "http://origin.test/\(number)")) }
    let recent = traffic.report(at: now).recent.map(\.record.url)
    #expect(recent.count == 200)
    #expect(recent.first == "http://origin.test/449")
    #expect(recent.last == "http://origin.test/250")
  }

  @Test func `Long texts are cut before they are kept`() throws {
    let traffic = Traffic()
    let long = String(repeating: "\u{E4}", count: 40_000)
    traffic.add(Sample.record(method: long, url: long, reason: long))
    let record = try #require(traffic.report(at: now).recent.first?.record)
    for text in [record.method, record.url, record.reason] {
      #expect(text.utf8.count <= Traffic.keptTextBytes + 6)
      #expect(text.hasSuffix("\u{2026}"))
    }
  }

  @Test func `Answers of many threads all count`() async {
    let traffic = Traffic()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<500 { traffic.add(Sample.record()) } }
      }
    }
    let report = traffic.report(at: now)
    #expect(report.total[.hit] == 4000)
    #expect(report.seconds.last?.counts.all == 4000)
    #expect(report.recent.count == 200)
  }
}
