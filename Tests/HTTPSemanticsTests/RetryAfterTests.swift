import Testing

@testable import HTTPSemantics

struct RetryAfterTests {
  private let now = HTTPDate(seconds: 1_800_000_000)
  @Test(arguments: [
    ("120", Int64?.some(120)), ("Fri, 15 Jan 2027 08:00:30 GMT", 30),
    ("Fri, 15 Jan 2027 07:00:00 GMT", 0), ("soon", nil), ("-1", nil), ("", nil),
  ])
  func `a server says when to come again`(value: String, seconds: Int64?) {
    #expect(RetryAfter.seconds([HTTPField("Retry-After", value)], now: now) == seconds)
    #expect(RetryAfter.seconds([], now: now) == nil)
  }
}
