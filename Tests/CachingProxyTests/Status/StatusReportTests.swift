import CacheFormat
import CacheStore
import Testing

@testable import CachingProxy

@Suite struct StatusReportTests {
  private func report(from started: Int64, to now: Int64, answers: Int = 0) throws -> StatusReport {
    let traffic = Traffic()
    for number in 0..<answers {
      traffic.add(Sample.record(at: now / 1_000_000_000 - Int64(number % 30)))
    }
    let tested = try StatusUnderTest()
    let time = Timestamp(nanoseconds: now)
    return StatusReport(
      facts: Sample.facts(), now: time, started: Timestamp(nanoseconds: started), storePath: "",
      statistics: tested.store.statistics, limits: Limits(), traffic: traffic.report(at: time))
  }

  @Test(
    arguments: [
      (0, 999_999_999, 0), (0, 1_000_000_000, 1), (5, 0, 0), (0, .max, 9_223_372_036),
      (.min, .max, 0), (.max, .min, 0), (.max, 0, 0), (5_000_000_000_000_000_000, .min, 0),
    ] as [(Int64, Int64, Int64)])
  func `The time of running is whole seconds, and never negative`(
    started: Int64, now: Int64, seconds: Int64
  ) throws {
    #expect(try report(from: started, to: now).uptimeSeconds == seconds)
  }

  @Test(arguments: [(0, 60.0), (1, 60), (2, 60), (10, 60), (3600, 60)])
  func `The rate is over ten seconds, or over the time since the start`(
    uptime: Int64, expected: Double
  ) throws {
    let now = Sample.second * 1_000_000_000
    // 60 answers in each of the last thirty seconds.
    let report = try report(from: now - uptime * 1_000_000_000, to: now, answers: 1800)
    #expect(report.answersPerSecond == expected)
  }
}
