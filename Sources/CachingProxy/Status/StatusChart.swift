/// Draws the hit rate and the number of answers over time as SVG.
///
/// Both are stretched to the available width. The lines keep their thickness, and all text is
/// outside, as HTML.
struct StatusChart {
  let title: String
  /// The label at the beginning of the time axis.
  let start: String
  private let columns: [TrafficSpan]
  private let columnSeconds: Int

  /// The size of a column, and of each picture, in units of the SVG.
  private static let columnWidth = 10
  private static let height = 100

  /// Creates a chart with a column for every few spans.
  init(
    spans: some Collection<TrafficSpan>, spansPerColumn: Int, secondsPerSpan: Int, title: String,
    start: String
  ) {
    self.title = title
    self.start = start
    columnSeconds = spansPerColumn * secondsPerSpan
    let spans = Array(spans)
    columns = stride(from: 0, to: spans.count, by: spansPerColumn).map { first in
      var column = spans[first]
      for span in spans[first...].dropFirst().prefix(spansPerColumn - 1) {
        column.counts += span.counts
      }
      return column
    }
  }

  var html: HTML {
    """
    <section class="card chart" aria-label="\(title)">
    <h2>\(title)</h2>
    <p class="axis"><span>Hit rate</span><span>\(sum.hitRate.map(StatusText.percent) ?? "\u{2013}")\
    </span></p>
    \(rates)
    <p class="axis"><span>Requests per second</span><span>\(peakText)</span></p>
    \(bars)
    <p class="axis time"><span>\(start)</span><span>now</span></p>
    </section>
    """
  }

  private var sum: TrafficCounts {
    columns.reduce(into: TrafficCounts()) { $0 += $1.counts }
  }

  private var peak: UInt64 { columns.map(\.counts.all).max() ?? 0 }

  private var peakText: String {
    "at most \(StatusText.rate(Double(peak) / Double(columnSeconds)))"
  }

  private var box: HTML {
    """
    viewBox="0 0 \(columns.count * Self.columnWidth) \(Self.height)" preserveAspectRatio="none"
    """
  }

  /// The hit rate as steps, with a gap where there were no answers.
  private var rates: HTML {
    var line = ""
    var area = ""
    for run in runs() {
      let start = run.lowerBound * Self.columnWidth
      area += "M\(start) \(Self.height)"
      for index in run {
        let y = Self.height - Int((columns[index].counts.hitRate ?? 0) * Double(Self.height) + 0.5)
        line += (index == run.lowerBound ? "M\(start) \(y)" : "V\(y)")
        line += "H\((index + 1) * Self.columnWidth)"
        area += "V\(y)H\((index + 1) * Self.columnWidth)"
      }
      area += "V\(Self.height)Z"
    }
    return """
      <svg class="rates" \(box) role="img" aria-label="\(rateLabel)">\
      \(gridLine(0))\(gridLine(50))\(gridLine(100))\
      <path class="area" d="\(area)"/><path class="line" d="\(line)"/></svg>
      """
  }

  private func gridLine(_ y: Int) -> HTML {
    "<path class=\"grid\" d=\"M0 \(y)H\(columns.count * Self.columnWidth)\"/>"
  }

  private var rateLabel: String {
    let rates = columns.compactMap(\.counts.hitRate)
    guard let low = rates.min(), let high = rates.max() else { return "No answers yet" }
    return "Hit rate from \(StatusText.percent(low)) to \(StatusText.percent(high))"
  }

  /// Returns the ranges of neighbouring columns that have a hit rate.
  private func runs() -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for (index, column) in columns.enumerated() where column.counts.hitRate != nil {
      if let last = runs.last, last.upperBound == index {
        runs[runs.count - 1] = last.lowerBound..<index + 1
      } else {
        runs.append(index..<index + 1)
      }
    }
    return runs
  }

  /// The answers as bars. Each has a part for each outcome, and its numbers as a tool tip.
  private var bars: HTML {
    let drawn = columns.indices.map(bar)
    return """
      <svg class="bars" \(box) role="img" aria-label="Requests per second, \(peakText)">\
      \(gridLine(0))\(gridLine(100))\(HTML(drawn))</svg>
      """
  }

  private func bar(_ index: Int) -> HTML {
    let column = columns[index]
    guard column.counts.all > 0 else { return "" }
    var drawn = 0.0
    let scale = Double(Self.height) / Double(max(1, peak))
    let parts = AnswerOutcome.allCases.map { outcome -> HTML in
      let bottom = drawn
      drawn += Double(column.counts[outcome]) * scale
      let (low, high) = (Int(bottom + 0.5), Int(drawn + 0.5))
      guard high > low else { return "" }
      return """
        <rect class="\(OutcomeText.name(of: outcome))" x="\(index * Self.columnWidth + 1)" \
        y="\(Self.height - high)" width="\(Self.columnWidth - 2)" height="\(high - low)"/>
        """
    }
    let rate = column.counts.hitRate.map { ", hit rate \(StatusText.percent($0))" } ?? ""
    let time = StatusText.timeOfDay(seconds: column.start)
    return """
      <g><title>\(time) UTC: \(StatusText.count(column.counts.all)) answers\(rate)</title>\
      <rect class="reach" x="\(index * Self.columnWidth)" width="\(Self.columnWidth)" \
      height="\(Self.height)"/>\(HTML(parts))</g>
      """
  }
}
