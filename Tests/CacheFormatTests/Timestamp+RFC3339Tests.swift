import CacheFormat
import TestSupport
import Testing

@Suite struct TimestampRFC3339Tests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000000000Z"), (-1, "1969-12-31T23:59:59.999999999Z"),
    (1_795_204_908_123_456_789, "2026-11-20T20:01:48.123456789Z"),
    (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
    (951_868_799_999_999_999, "2000-02-29T23:59:59.999999999Z"),
    (-2_203_891_200_000_000_000, "1900-03-01T00:00:00.000000000Z"),
    (4_107_542_399_000_000_000, "2100-02-28T23:59:59.000000000Z"),
    (Int64.min, "1677-09-21T00:12:43.145224192Z"), (Int64.max, "2262-04-11T23:47:16.854775807Z"),
  ])
  func `a moment has one spelling`(nanoseconds: Int64, text: String) {
    let time = Timestamp(nanoseconds: nanoseconds)
    #expect(time.description == text)
    #expect(Timestamp(rfc3339: Array(text.utf8)) == time)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `random moments come back exactly`(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<2000 {
      let time = Timestamp(nanoseconds: Int64(bitPattern: generator.next()))
      #expect(Timestamp(rfc3339: Array(time.description.utf8)) == time)
    }
  }

  @Test func `every day from 1678 to 2261 follows the one before`() throws {
    var (year, month, day) = (1678, 1, 1)
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var time = try #require(Timestamp(rfc3339: Array("1678-01-01T00:00:00.000000000Z".utf8)))
    while year < 2262 {
      let padded = String("\(10_000 + year)".dropFirst())
      let expected = "\(padded)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
      if time.description.prefix(10) != expected {
        Issue.record("\(time) should be \(expected)")
        return
      }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      day += 1
      if day > lengths[month - 1] + (month == 2 && isLeap ? 1 : 0) { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
      time.nanoseconds += 86_400_000_000_000
    }
    #expect(time.description == "2262-01-01T00:00:00.000000000Z")
  }

  @Test(arguments: [
    "", "2026-11-20T20:01:48Z", "2026-11-20T20:01:48.12345678Z",
    "2026-11-20T20:01:48.1234567890Z", "2026-11-20t20:01:48.123456789Z",
    "2026-11-20T20:01:48.123456789z", "2026-11-20 20:01:48.123456789Z",
    "2026-13-20T20:01:48.123456789Z", "2026-00-20T20:01:48.123456789Z",
    "2026-11-31T20:01:48.123456789Z", "2026-11-00T20:01:48.123456789Z",
    "2026-02-29T20:01:48.123456789Z", "1900-02-29T20:01:48.123456789Z",
    "2026-11-20T24:01:48.123456789Z", "2026-11-20T20:60:48.123456789Z",
    "2026-11-20T20:01:60.123456789Z", "0000-11-20T20:01:48.123456789Z",
    "2026-11-20T20:01:48,123456789Z", "+026-11-20T20:01:48.123456789Z",
    "1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z",
    "0001-01-01T00:00:00.000000000Z", "9999-12-31T23:59:59.999999999Z",
  ])
  func `anything else is no moment`(text: String) {
    #expect(Timestamp(rfc3339: Array(text.utf8)) == nil)
  }
}
