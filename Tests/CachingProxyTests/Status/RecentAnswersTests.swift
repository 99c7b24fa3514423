import CacheFormat
import Testing

@testable import CachingProxy

@Suite struct RecentAnswersTests {
  private let now = Timestamp(nanoseconds: Sample.second * 1_000_000_000)
  @Test func `The last two hundred answers stay, the newest first`() {
    let traffic = Traffic()
    for number in 0..<450 { traffic.add(Sample.record(url: "http://origin.test/\(number)")) }
    let recent = traffic.report(at: now).recent.map(\.record.url)
    #expect(recent.count == 200)
    #expect(recent.first == "http://origin.test/449")
    #expect(recent.last == "http://origin.test/250")
  }

  @Test func `Long texts are cut before they are kept`() throws {
    let traffic = Traffic()
    let long = String(repeating: "\u{E4}", count: 40_000)
    traffic.add(Sample.record(method: long, url: long, reason: long))
    let record = try #require(traffic.report(at: now).recent.first?.record)
    for text in [record.method, record.url, record.reason] {
      #expect(text.utf8.count <= Traffic.keptTextBytes + 6)
      #expect(text.hasSuffix("\u{2026}"))
    }
  }
}
