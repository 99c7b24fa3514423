import CacheFormat
import Testing

@testable import CachingProxy

@Suite struct StatusTextTests {
  @Test(
    arguments: [
      (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"),
      (UInt64.max, "18,446,744,073,709,551,615"),
    ] as [(UInt64, String)])
  func `Counts have commas`(value: UInt64, text: String) {
    #expect(StatusText.count(value) == text)
  }

  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"),
      (1536, "1.5 KiB"),
      ((1 << 20) - 1, "1.0 MiB"), (3 << 30, "3.0 GiB"), (UInt64.max, "16.0 EiB"),
    ] as [(UInt64, String)])
  func `Bytes are written in powers of 1024`(value: UInt64, text: String) {
    #expect(StatusText.bytes(value) == text)
  }

  @Test(
    arguments: [
      (0, "0 %"), (0.00001, "0.1 %"), (0.5, "50.0 %"), (0.9876, "98.8 %"), (0.99999, "99.9 %"),
      (1, "100 %"), (-1, "0 %"), (2, "100 %"),
    ] as [(Double, String)])
  func `Only all is 100 percent, and only nothing is 0`(share: Double, text: String) {
    #expect(StatusText.percent(share) == text)
  }

  @Test(
    arguments: [
      (0, "0"), (0.04, "0.0"), (0.25, "0.3"), (99.94, "99.9"), (99.96, "100"), (61_234.5, "61,235"),
      (Double.infinity, "1,000,000,000,000,000"),
    ] as [(Double, String)])
  func `Rates have tenths up to a hundred`(rate: Double, text: String) {
    #expect(StatusText.rate(rate) == text)
  }

  @Test(
    arguments: [
      (-5, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (725, "12 min 5 s"),
      (3600, "1 h"), (7320, "2 h 2 min"), (86_400 * 3 + 3600, "3 d 1 h"),
    ] as [(Int64, String)])
  func `Durations have their two largest units`(seconds: Int64, text: String) {
    #expect(StatusText.duration(seconds: seconds) == text)
  }

  @Test(
    arguments: [
      (0, "now"), (-10, "now"), (1, "1 s ago"), (60, "1 min ago"), (7200, "2 h ago"),
      (200_000, "2 d ago"),
    ] as [(Int64, String)])
  func `Moments are told from now`(seconds: Int64, text: String) {
    let now = Timestamp(nanoseconds: Sample.second * 1_000_000_000)
    let time = Timestamp(nanoseconds: (Sample.second - seconds) * 1_000_000_000)
    #expect(StatusText.ago(time, at: now) == text)
  }

  @Test func `The span from the first moment to the last can be told`() {
    #expect(StatusText.ago(.distantPast, at: .distantFuture) == "106751 d ago")
    #expect(StatusText.ago(.distantFuture, at: .distantPast) == "106751 d ago")
  }

  @Test(
    arguments: [
      (0, "0 \u{B5}s"), (999, "999 \u{B5}s"), (1000, "1.0 ms"), (999_949, "999.9 ms"),
      (999_950, "1.0 s"), (12_345_678, "12.3 s"), (725_000_000, "12 min 5 s"),
      (UInt64.max, "213503982 d 8 h"),
    ] as [(UInt64, String)])
  func `Answers take microseconds to days`(microseconds: UInt64, text: String) {
    #expect(StatusText.took(microseconds: microseconds) == text)
  }

  @Test(arguments: [(0, "00:00:00"), (Sample.second, "23:00:00"), (-1, "23:59:59")])
  func `The time of day is that of UTC`(second: Int64, text: String) {
    #expect(StatusText.timeOfDay(seconds: second) == text)
  }
}
