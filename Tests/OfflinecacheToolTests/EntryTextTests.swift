import CacheFormat
import Testing

@testable import offlinecache

@Suite struct EntryTextTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
      (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (1_704_067_199, "2023-12-31T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
      (-9_223_372_036, "1677-09-21T00:12:44Z"), (9_223_372_036, "2262-04-11T23:47:16Z"),
    ] as [(Int64, String)])
  func `a time is written in utc`(seconds: Int64, text: String) {
    #expect(dateText(Timestamp(nanoseconds: seconds * 1_000_000_000)) == text)
  }

  @Test func `a fraction of a second is rounded down`() {
    #expect(dateText(Timestamp(nanoseconds: -1)) == "1969-12-31T23:59:59Z")
    #expect(dateText(Timestamp(nanoseconds: 999_999_999)) == "1970-01-01T00:00:00Z")
  }
}
