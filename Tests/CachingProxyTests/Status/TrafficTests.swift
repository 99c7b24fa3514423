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
