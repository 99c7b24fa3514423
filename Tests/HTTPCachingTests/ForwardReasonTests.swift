import CacheStore
import HTTPSemantics
import Testing

@testable import HTTPCaching

struct ForwardReasonTests {
  private static let all: [(ForwardReason, CacheStatus.Forward)] = [
    (.absent, .uriMiss), (.damaged, .miss), (.collision, .miss), (.closed, .miss),
    (.notAResponse, .miss),
    (.otherVariant, .varyMiss), (.otherPart, .partial), (.mustValidate(.requestNoCache), .request),
    (.mustValidate(.requestMaxAge), .request), (.mustValidate(.requestMinFresh), .request),
    (.mustValidate(.stale(by: 5)), .stale), (.mustValidate(.noCache), .stale),
    (.mustValidate(.stale(by: 0)), .stale), (.mustValidate(.clockSetBack), .stale),
    (.policy(.reload), .request),
    (.requestNoStore, .request), (.method("POST"), .method), (.requestBody, .bypass),
    (.condition("If-Match"), .bypass), (.refused, .bypass),
  ]

  @Test func `each reason has its name in Cache-Status, and a text of its own`() {
    for (reason, forward) in Self.all { #expect(reason.forwarded == forward, "\(reason)") }
    let texts = Self.all.map(\.0.description)
    #expect(Set(texts).count == texts.count)
    for text in texts { #expect(text.last != "." && !text.contains("\n"), "\(text)") }
  }

  @Test func `a miss of the store is told as such`() {
    #expect(ForwardReason(.absent) == .absent && ForwardReason(.damaged) == .damaged)
    #expect(ForwardReason(.collision) == .collision && ForwardReason(.closed) == .closed)
  }
}
