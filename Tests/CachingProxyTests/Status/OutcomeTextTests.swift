import Testing

@testable import CachingProxy

struct OutcomeTextTests {
  @Test func `each outcome has a word and a meaning of its own`() {
    let outcomes = AnswerOutcome.allCases
    #expect(Set(outcomes.map { OutcomeText.name(of: $0) }).count == outcomes.count)
    #expect(Set(outcomes.map { OutcomeText.meaning(of: $0) }).count == outcomes.count)
    for outcome in outcomes {
      let name = OutcomeText.name(of: outcome)
      // It is the name of a class in the style.
      #expect(name.utf8.allSatisfy { (0x61...0x7A).contains($0) })
      #expect(OutcomeText.mark(outcome).text == "<span class=\"mark \(name)\">\(name)</span>")
    }
  }

  @Test func `the beginning that the page shows beside the reason is left out`() {
    func reason(_ text: String, status: Int = 502) -> String {
      OutcomeText.reason(
        of: RecentAnswer(
          outcome: .error, record: Sample.record(status: status, source: .proxy, reason: text)))
    }
    #expect(reason("502: http://origin.test/a: no route") == "no route")
    #expect(reason("http://origin.test/a: no route") == "no route")
    #expect(reason("504: no route") == "504: no route")
    #expect(reason("502: ") == "from the proxy")
  }

  @Test(arguments: AnswerSource.allCases)
  func `without a reason the source is told, and for a hit how long it is fresh`(
    source: AnswerSource
  ) {
    let text = OutcomeText.reason(
      of: RecentAnswer(outcome: .hit, record: Sample.record(source: source)))
    #expect(text.hasPrefix("from ") || text.hasPrefix("through "))
    #expect(text.contains(", fresh for ") == [.memory, .disk].contains(source))
    let stale = OutcomeText.reason(
      of: RecentAnswer(outcome: .stale, record: Sample.record(source: source)))
    #expect(!stale.contains("fresh"))
  }
}
