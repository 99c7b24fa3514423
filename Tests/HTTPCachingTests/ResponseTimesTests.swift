import CacheFormat
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ResponseTimesTests {
  @Test(
    arguments: [
      (0, 0), (999_999_999, 0), (1_000_000_000, 1), (-1, -1), (-1_000_000_000, -1),
      (-1_000_000_001, -2), (.max, 9_223_372_036), (.min, -9_223_372_037),
    ] as [(Int64, Int64)])
  func `a time begins its second, before 1970, too`(nanoseconds: Int64, seconds: Int64) {
    #expect(Timestamp(nanoseconds: nanoseconds).date == HTTPDate(seconds: seconds))
  }

  @Test(
    arguments: [
      (0, 0), (5, 5_000_000_000), (-5, -5_000_000_000), (9_223_372_036, 9_223_372_036_000_000_000),
      (9_223_372_037, .max), (.max, .max), (-9_223_372_037, .min), (.min, .min),
    ] as [(Int64, Int64)])
  func `a date beyond the range of a time is the nearest one`(seconds: Int64, nanoseconds: Int64) {
    #expect(HTTPDate(seconds: seconds).timestamp == Timestamp(nanoseconds: nanoseconds))
  }
}
