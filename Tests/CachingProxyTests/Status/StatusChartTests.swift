import Testing

@testable import CachingProxy

struct StatusChartTests {
  private func span(_ start: Int64, _ outcomes: [AnswerOutcome]) -> TrafficSpan {
    var counts = TrafficCounts()
    for outcome in outcomes { counts.add(Sample.record(), (outcome, 0)) }
    return TrafficSpan(start: start, counts: counts)
  }

  private func chart(
    _ spans: [TrafficSpan], perColumn: Int = 1, title: String = "T", start: String = "then"
  ) -> String {
    StatusChart(
      spans: spans, spansPerColumn: perColumn, secondsPerSpan: 1, title: title, start: start
    ).html.text
  }

  @Test func `without answers it has lines and no numbers`() {
    for text in [chart([]), chart([span(0, []), span(1, [])])] {
      #expect(text.contains("No answers yet") && !text.contains("<g>"))
      #expect(text.contains("<path class=\"line\" d=\"\"/>"))
      #expect(!text.contains("nan") && !text.contains("inf"))
    }
  }

  @Test func `the hit rate has a gap where there were no answers`() {
    let text = chart([span(0, [.hit]), span(1, []), span(2, [.miss, .hit]), span(3, [.bypass])])
    #expect(text.contains("d=\"M0 0H10M20 50H30\""))
    #expect(text.contains("Hit rate from 50"))
  }

  @Test func `a column sums up several spans, also where the last has fewer`() {
    let spans = (0..<5).map { span(Int64($0), [.hit, .miss]) }
    let text = chart(spans, perColumn: 2)
    #expect(text.contains("viewBox=\"0 0 30 100\""))
    #expect(text.split(separator: "<g>").count == 4)
    #expect(text.contains(": 4 answers") && text.contains(": 2 answers"))
  }

  @Test func `the bars fill the height, and each part has the colour of its outcome`() {
    let text = chart([span(0, [.hit, .hit, .miss, .error])])
    #expect(text.contains("<rect class=\"hit\" x=\"1\" y=\"50\" width=\"8\" height=\"50\"/>"))
    #expect(text.contains("<rect class=\"miss\" x=\"1\" y=\"25\" width=\"8\" height=\"25\"/>"))
    #expect(text.contains("<rect class=\"error\" x=\"1\" y=\"0\" width=\"8\" height=\"25\"/>"))
    #expect(!text.contains("<rect class=\"bypass\""))
  }

  @Test func `text from outside is no markup`() {
    let text = chart([], title: "<b>", start: "\"<i>")
    #expect(!text.contains("<b>") && !text.contains("<i>"))
  }
}
