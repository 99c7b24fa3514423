import CacheFormat
import Testing

@testable import CachingProxy

@Suite struct TrafficRingTests {
  private let now = Timestamp(nanoseconds: Sample.second * 1_000_000_000)
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
}
