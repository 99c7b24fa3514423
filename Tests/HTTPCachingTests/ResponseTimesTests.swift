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

  @Test func `a response that is stale at receipt has no expiry`() {
    func expiry(_ fields: [HTTPField]) -> Timestamp? {
      let received = moment(100)
      return CacheRules().expiry(
        of: StoredResponse(
          head(200, HTTPFields(fields)), to: request(),
          ResponseTimes(request: received, response: received), selection: .none,
          rules: CacheRules()))
    }
    #expect(expiry([HTTPField("Cache-Control", "max-age=60")]) == moment(160))
    #expect(
      expiry([HTTPField("Cache-Control", "max-age=60"), HTTPField("Age", "20")]) == moment(140))
    for fields in [
      [HTTPField("Cache-Control", "max-age=0")],
      [HTTPField("Cache-Control", "max-age=60"), HTTPField("Age", "60")],
      [HTTPField("Expires", "0")], [],
    ] { #expect(expiry(fields) == nil) }
    // The longest lifetime is that of the standard.
    #expect(
      expiry([HTTPField("Cache-Control", "max-age=99999999999999999999")])
        == moment(100 + (1 << 31)))
  }
}
