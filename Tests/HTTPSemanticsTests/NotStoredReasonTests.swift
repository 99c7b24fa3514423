import HTTPSemantics
import Testing

struct NotStoredReasonTests {
  @Test func `each reason has a text of its own that goes on after "not stored:"`() {
    let reasons: [NotStoredReason] = [
      .method("POST"), .requestBody, .status(299), .noStoreRequest, .noStoreResponse,
      .privateResponse, .authorization, .setCookie, .cookie, .notUnderstood(299), .varyAll,
      .noExplicitFreshness(302), .endless, .partNotRequested,
    ]
    let texts = reasons.map(\.description)
    #expect(Set(texts).count == reasons.count)
    for text in texts {
      #expect(
        text.first?.isLowercase == true && text.last != "." && !text.contains("\n"), "\(text)")
    }
    #expect(texts[0].contains("POST") && texts[2].contains("299") && texts[9].contains("299"))
    #expect(texts[11].contains("302"))
  }
}
