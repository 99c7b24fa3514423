import HTTPSemantics
import Testing

struct HTTPDateTests {
  private let now = HTTPDate(seconds: 1_800_000_000)

  @Test(
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun Nov  6 08:49:37 1994",
    ])
  func `the three formats of RFC 9110 mean the same time`(text: String) {
    #expect(HTTPDate(text, now: now) == HTTPDate(seconds: 784_111_777))
  }

  @Test(
    arguments: [
      "SUN, 06 nov 1994 08:49:37 gmt", "Tue, 06 Nov 1994 08:49:37 gMT",
      "TUESDAY, 06-nOV-94 08:49:37 Gmt", "mon nov  6 08:49:37 1994", "Sun Nov 06 08:49:37 1994",
    ])
  func `names may have any case and need not fit the date`(text: String) {
    #expect(HTTPDate(text, now: now) == HTTPDate(seconds: 784_111_777))
  }

  @Test(
    arguments: [
      "", "0", "-1", "now", "Sun", "Sun,", "Sun, ", "Xxx, 06 Nov 1994 08:49:37 GMT",
      "Someday, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06-Nov-94 08:49:37 GMT",
      "Sun, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
      "Sun 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT",
      "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov  1994 08:49:37 GMT", "Sun, 06 Nov 1994  08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37  GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
      " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06\tNov 1994 08:49:37 GMT",
      "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
      "Sun, 06 Nov 01994 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT",
      "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:4937 GMT", "Sun, 06 Nov 1994",
      "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 06 Nov 1994 08:49:37 AEST", "Sun, 06 Nov 1994 08:49:37 EST",
      "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 GMT+1",
      "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
      "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT",
      "Thu, 29 Feb 1900 08:49:37 GMT", "Sun, 99 Nov 1994 08:49:37 GMT",
      "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT",
      "Sun Nov  6 08:49:37 94", "Sun, 06 Nov 1994 -8:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
      "1994-11-06T08:49:37Z", "784111777", "Sun, 06 Nov 1994 08:49:37 GMT, x",
      "Wednesday, 06-Nov-94 08:49:37 GMTGMTGMT",
    ])
  func `what is not one of the formats is no date`(text: String) {
    #expect(HTTPDate(text, now: now) == nil)
  }

  @Test(
    arguments: [
      ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
      ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Sun, 21 Nov 2286 04:46:39 GMT", 10_000_039_599),
    ] as [(String, Int64)])
  func `a day is valid if the calendar has it`(text: String, seconds: Int64) {
    #expect(HTTPDate(text, now: now) == HTTPDate(seconds: seconds))
    #expect(HTTPDate(seconds: seconds).description == text)
  }

  @Test func `a leap second counts as the second before it, so that nothing ends later for it`() {
    #expect(
      HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT", now: now)
        == HTTPDate("Sat, 31 Dec 2016 23:59:59 GMT", now: now))
  }

  @Test(
    arguments: [
      // The time by which it is understood, the date, the year that is meant.
      ("Fri, 15 Jan 2027 08:00:00 GMT", "Friday, 15-Jan-77 08:00:00 GMT", 2077),
      ("Fri, 15 Jan 2027 08:00:00 GMT", "Friday, 15-Jan-77 08:00:01 GMT", 1977),
      ("Fri, 15 Jan 2027 08:00:00 GMT", "Friday, 31-Dec-76 23:59:59 GMT", 2076),
      ("Fri, 15 Jan 2027 08:00:00 GMT", "Friday, 18-Aug-50 02:01:18 GMT", 2050),
      ("Fri, 15 Jan 2027 08:00:00 GMT", "Friday, 01-Jan-00 00:00:00 GMT", 2000),
      ("Fri, 15 Jan 2027 08:00:00 GMT", "Friday, 01-Jan-99 00:00:00 GMT", 1999),
      ("Tue, 15 Jan 2060 08:00:00 GMT", "Friday, 01-Jan-05 00:00:00 GMT", 2105),
      ("Tue, 15 Jan 1985 08:00:00 GMT", "Friday, 01-Jan-94 00:00:00 GMT", 1994),
    ])
  func `a two-digit year is the latest that is at most 50 years ahead`(
    now: String, text: String, year: Int
  ) throws {
    let now = try #require(HTTPDate(now, now: self.now))
    let date = try #require(HTTPDate(text, now: now))
    #expect(date.description.split(separator: " ")[3] == "\(year)")
  }

  @Test func `a leap day with a two-digit year has to be in the year that is meant`() {
    #expect(HTTPDate("Friday, 29-Feb-24 00:00:00 GMT", now: now) != nil)
    #expect(HTTPDate("Friday, 29-Feb-23 00:00:00 GMT", now: now) == nil)
  }

  @Test func `writing and reading again gives the same time for years 0 to 9999`() {
    // Steps of a year and 98 days, so that all months are met in turn.
    var seconds: Int64 = -62_167_219_200
    while seconds <= 253_402_300_799 {
      let date = HTTPDate(seconds: seconds)
      #expect(HTTPDate(date.description, now: now) == date)
      seconds += 40_000_003
    }
  }

  @Test func `a time that the format cannot hold is written as the nearest that it can`() {
    #expect(HTTPDate(seconds: .min).description == "Sat, 01 Jan 0000 00:00:00 GMT")
    #expect(HTTPDate(seconds: .max).description == "Fri, 31 Dec 9999 23:59:59 GMT")
  }

  @Test func `differences stay at the ends of the range`() {
    #expect(later(5).seconds(since: received) == 5)
    #expect(received.seconds(since: later(5)) == -5)
    #expect(HTTPDate(seconds: .max).seconds(since: HTTPDate(seconds: -1)) == .max)
    #expect(HTTPDate(seconds: .min).seconds(since: HTTPDate(seconds: 1)) == .min)
    #expect(received < later(1))
  }

  @Test func `any clock can be the one by which a two-digit year is understood`() {
    #expect(
      HTTPDate("Friday, 01-Jan-94 00:00:00 GMT", now: HTTPDate(seconds: .max))?.description
        == "Sat, 01 Jan 9994 00:00:00 GMT")
    #expect(HTTPDate("Friday, 01-Jan-94 00:00:00 GMT", now: HTTPDate(seconds: .min)) == nil)
  }
}
