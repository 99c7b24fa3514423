internal import CacheFormat

// The last answers, each with its reason.
extension StatusPage {
  private static let shownAnswers = 12

  /// The last answers. The older ones are folded.
  var recent: HTML {
    let answers = report.traffic.recent
    guard !answers.isEmpty else { return "" }
    let older = answers.dropFirst(Self.shownAnswers)
    let folded: HTML =
      older.isEmpty
      ? ""
      : """
      <details id="older"><summary>\(older.count) more</summary>
      \(table(older, label: "Older answers"))
      </details>
      """
    return """
      <section class="card" aria-labelledby="recent">
      <h2 id="recent">Last answers</h2>
      \(table(answers.prefix(Self.shownAnswers), label: "Last answers"))
      \(folded)
      </section>
      """
  }

  private func table(_ answers: ArraySlice<RecentAnswer>, label: String) -> HTML {
    """
    <table class="answers" aria-label="\(label)">
    <thead><tr><th scope="col">Outcome</th><th scope="col">Request and reason</th>\
    <th scope="col" class="number wide">Status</th><th scope="col" class="number wide">Size</th>\
    <th scope="col" class="number wide">Took</th></tr></thead>
    <tbody>
    \(HTML(answers.map(row)))</tbody>
    </table>
    """
  }

  private func row(_ answer: RecentAnswer) -> HTML {
    let record = answer.record
    let size = StatusText.bytes(record.bytesSent)
    let took = StatusText.took(microseconds: record.microseconds)
    let cut: HTML = record.isComplete ? "" : "<span class=\"cutshort\">not sent to its end</span>"
    return """
      <tr><td>\(OutcomeText.mark(answer.outcome))\
      <time datetime="\(record.time.description)">\(StatusText.ago(record.time, at: report.now))\
      </time></td>\
      <td class="request"><span class="url"><b>\(record.method)</b> \(shown(record.url))</span>\
      <span class="reason">\(OutcomeText.reason(of: answer)) \(cut)</span>\
      <span class="narrow">\(record.status), \(size), \(took)</span></td>\
      <td class="number wide">\(record.status)</td><td class="number wide">\(size)</td>\
      <td class="number wide">\(took)</td></tr>

      """
  }
}
