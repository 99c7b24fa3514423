// The answers over time, and their sums.
extension StatusPage {
  var activity: HTML {
    let seconds = StatusChart(
      spans: report.traffic.seconds, spansPerColumn: 5, secondsPerSpan: 1,
      title: "Last 5 minutes", start: "5 min ago")
    // In the first hour, a chart of 24 hours would be empty except at its end.
    let isYoung = report.uptimeSeconds < 3600
    let minutes = StatusChart(
      spans: report.traffic.minutes.suffix(isYoung ? 60 : Traffic.keptMinutes),
      spansPerColumn: isYoung ? 1 : 15, secondsPerSpan: 60,
      title: isYoung ? "Last hour" : "Last 24 hours", start: isYoung ? "1 h ago" : "24 h ago")
    return """
      <div class="pair">
      \(seconds.html)
      \(minutes.html)
      </div>
      \(counts)
      """
  }

  private var counts: HTML {
    let total = report.traffic.total
    let rows = AnswerOutcome.allCases.map { outcome -> HTML in
      """
      <tr><th scope="row">\(OutcomeText.mark(outcome))</th>\
      <td class="number">\(StatusText.count(total[outcome]))</td>\
      <td class="number">\(StatusText.percent(share(of: outcome)))</td>\
      <td class="meaning">\(OutcomeText.meaning(of: outcome))</td></tr>

      """
    }
    return """
      <section class="card" aria-labelledby="counts">
      <h2 id="counts">Answers since the start</h2>
      \(shares)
      <table class="counts">
      <thead><tr><th scope="col">Outcome</th><th scope="col" class="number">Answers</th>\
      <th scope="col" class="number">Share</th>\
      <th scope="col" class="meaning">Meaning</th></tr></thead>
      <tbody>
      \(HTML(rows))</tbody>
      </table>
      <p class="note">\(StatusText.count(total.all)) answers, \(StatusText.bytes(total.sentBytes)) \
      sent, \(StatusText.bytes(total.fetchedBytes)) of it fetched from the origin\(cutShort)\(notStored).</p>
      \(tunnels)
      </section>
      """
  }

  private var tunnels: HTML {
    let counts = report.traffic.tunnels
    guard counts.began > 0 || !report.leftAlone.isEmpty else { return "" }
    return """
      \(leftAlone)
      <p class="note">\(StatusText.count(counts.began)) \(counts.began == 1 ? "tunnel" : "tunnels"), \
      \(StatusText.count(counts.open)) open; the others brought \
      \(StatusText.bytes(counts.sentBytes)) to clients and \
      \(StatusText.bytes(counts.receivedBytes)) from them.</p>
      """
  }

  private var leftAlone: HTML {
    if report.leftAlone.isEmpty { return "" }
    return """
      <p class="note">Tunnelled for an hour, because a client has not accepted the certificate: \
      \(report.leftAlone.joined(separator: ", ")). Nothing of these is stored. Make the client trust \
      the authority (<code>offlinecache ca trust</code> tells how), and start the proxy again; or \
      exclude them with <code>--tunnel</code>.</p>
      """
  }

  private var cutShort: HTML {
    let count = report.traffic.total.cutShort
    return count == 0 ? "" : "; \(StatusText.count(count)) not sent to their end"
  }

  private var notStored: HTML {
    let count = report.traffic.total.notStored
    return count == 0 ? "" : "; \(StatusText.count(count)) not stored, because the store failed"
  }

  private func share(of outcome: AnswerOutcome) -> Double {
    let total = report.traffic.total
    return total.all == 0 ? 0 : Double(total[outcome]) / Double(total.all)
  }

  /// One bar with a part for each outcome. The table below it has the same numbers.
  private var shares: HTML {
    var start = 0.0
    let parts = AnswerOutcome.allCases.map { outcome -> HTML in
      let begin = Int(start * 10_000)
      start += share(of: outcome)
      let width = Int(start * 10_000) - begin
      guard width > 0 else { return "" }
      return """
        <rect class="\(OutcomeText.name(of: outcome))" x="\(begin)" width="\(width)" height="10"/>
        """
    }
    return """
      <svg class="shares" viewBox="0 0 10000 10" preserveAspectRatio="none" aria-hidden="true">\
      \(HTML(parts))</svg>
      """
  }
}
