import TestSupport
import Testing

@testable import CacheFormat

struct CivilTimeTests {
  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  @Test func `every day of 800 years follows the day before it`() {
    var (year, month, day): (Int64, Int, Int) = (1_600, 1, 1)
    var weekday = CivilTime(seconds: -11_676_096_000).weekday
    #expect(weekday == 6, "1 January 1600 was a Saturday")
    var seconds: Int64 = -11_676_096_000
    while year < 2_400 {
      let time = CivilTime(seconds: seconds)
      guard (time.year, time.month, time.day) == (year, month, day), time.weekday == weekday,
        time.seconds == seconds, time.hasValidDay
      else {
        Issue.record("\(seconds): \(time) is not \(year)-\(month)-\(day)")
        return
      }
      let february = Self.isLeap(year) ? 29 : 28
      let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      var next = time
      next.day = lengths[month - 1] + 1
      if next.hasValidDay { Issue.record("\(year)-\(month) has \(next.day) days") }
      day += 1
      if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
      weekday = (weekday + 1) % 7
      seconds += 86_400
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `any second comes back from its date and time`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50_000 {
      let seconds = Int64.random(in: CivilTime.earliest...CivilTime.latest, using: &random)
      let time = CivilTime(seconds: seconds)
      #expect(time.seconds == seconds)
      #expect((0..<24).contains(time.hour) && (0..<60).contains(time.minute))
      #expect((0..<60).contains(time.second) && (0...9_999).contains(time.year))
    }
  }

  @Test func `the ends of the range are the first and the last second of their years`() {
    let first = CivilTime(seconds: CivilTime.earliest)
    #expect((first.year, first.month, first.day, first.hour) == (0, 1, 1, 0))
    #expect(CivilTime(seconds: CivilTime.earliest - 1).year == -1)
    let last = CivilTime(seconds: CivilTime.latest)
    #expect((last.year, last.month, last.day, last.second) == (9_999, 12, 31, 59))
    #expect(CivilTime(seconds: CivilTime.latest + 1).year == 10_000)
  }
}
