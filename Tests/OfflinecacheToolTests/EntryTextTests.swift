import CacheFormat
import Testing

@testable import offlinecache

@Suite struct EntryTextTests {
  @Test func `a time is written to the second and rounded down`() {
    #expect(dateText(Timestamp(nanoseconds: 0)) == "1970-01-01T00:00:00Z")
    #expect(dateText(Timestamp(nanoseconds: 951_782_400_999_999_999)) == "2000-02-29T00:00:00Z")
    #expect(dateText(Timestamp(nanoseconds: -1)) == "1969-12-31T23:59:59Z")
  }
}
