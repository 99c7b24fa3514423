import CacheSystem
import Foundation
import TestSupport
import Testing

@Suite struct ClockTests {
  @Test func `the time of day is that of Foundation, the cheap one is a little late`() {
    let before = Int64(Date().timeIntervalSince1970 * 1e9)
    let (rough, now) = (SystemClock().roughly(), SystemClock().now())
    let after = Int64(Date().timeIntervalSince1970 * 1e9)
    // Foundation's time has 0.1 microseconds.
    #expect(now >= before - 1_000 && now <= after + 1_000)
    #expect(rough <= now && rough > before - 1_000_000_000)
  }

  @Test func `a clock of its own need not have a cheap time`() {
    #expect(TestClock(-7).roughly() == -7)
  }
}
