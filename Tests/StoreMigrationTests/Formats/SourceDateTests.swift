import CacheFormat
import Testing

@testable import StoreMigration

struct SourceDateTests {
  @Test(
    arguments: [
      ("2026-01-31", "2026-01-31T00:00:00.000000000Z"),
      ("2026-01-31 23:59:58", "2026-01-31T23:59:58.000000000Z"),
      ("2026-01-31T23:59:58Z", "2026-01-31T23:59:58.000000000Z"),
      ("2026-01-31 23:59:58.5", "2026-01-31T23:59:58.500000000Z"),
      ("2026-01-31 23:59:58.123456789", "2026-01-31T23:59:58.123456789Z"),
    ])
  func `a text is a time in UTC, with as many digits as it has`(text: String, expected: String) {
    let time = SourceDate.unix(.text(Array(text.utf8)))
    #expect(time == Timestamp(rfc3339: Array(expected.utf8)))
    #expect(time != nil)
  }

  @Test(
    arguments: [
      "", "2026-1-31", "2026-01-32", "2026-01-31 23:59", "2026-01-31 23:59:58.",
      "2026-01-31 23:59:58,5", "2026-01-31x23:59:58", "2026-01-31 23:59:58.1234567890",
      "2026-01-31 23:59:58+01:00",
    ])
  func `another text is no time`(text: String) {
    #expect(SourceDate.unix(.text(Array(text.utf8))) == nil)
  }

  @Test func `a number counts the seconds since 1970, or since 2001`() {
    #expect(SourceDate.unix(.integer(3)) == Timestamp(nanoseconds: 3_000_000_000))
    #expect(SourceDate.unix(.real(-0.5)) == Timestamp(nanoseconds: -500_000_000))
    #expect(
      SourceDate.sinceReference(.integer(0)) == SourceDate.unix(.text(Array("2001-01-01".utf8))))
    #expect(SourceDate.unix(.real(.nan)) == nil)
    #expect(SourceDate.unix(.null) == nil)
    #expect(SourceDate.unix(.blob(Array("2026-01-31".utf8))) == nil)
    #expect(SourceDate.sinceReference(.text([0x31])) == nil)
  }
}
