internal import CacheFormat
internal import CacheStore

// The contents of the store.
extension StatusPage {
  /// The names with the most bytes, and the largest and the oldest entries.
  var contents: HTML {
    guard report.statistics.entries > 0 else { return isUnused ? "" : emptyStore }
    return """
      <section class="card" aria-labelledby="store">
      <h2 id="store">The store</h2>
      \(storeFacts)
      \(survey)
      </section>
      """
  }

  private var emptyStore: HTML {
    """
    <section class="card" aria-labelledby="store">
    <h2 id="store">The store is empty</h2>
    <p>What may be kept lands in <code>\(report.storePath)</code> once it is asked for. The \
    answers above say why each of them was not kept.</p>
    </section>
    """
  }

  private var storeFacts: HTML {
    let statistics = report.statistics
    var facts: HTML = """
      <code>\(report.storePath)</code>, \(StatusText.count(UInt64(statistics.entries))) \
      \(statistics.entries == 1 ? "entry" : "entries") with \
      \(StatusText.bytes(statistics.logicalBytes)), \
      \(StatusText.bytes(statistics.allocatedBytes)) on disk
      """
    if let limit = report.limits.bytes { facts += " of \(StatusText.bytes(limit)) allowed" }
    if let limit = report.limits.entries {
      facts += ", at most \(StatusText.count(limit)) entries"
    }
    if let limit = report.limits.entryBytes {
      facts += ", at most \(StatusText.bytes(limit)) each"
    }
    if statistics.sharedBytes > 0 {
      facts += ", \(StatusText.bytes(statistics.sharedBytes)) saved as equal bodies are kept once"
    }
    if statistics.unsettledEntries > 0 {
      let count = StatusText.count(UInt64(statistics.unsettledEntries))
      facts += ", \(count) only in the journal so far"
    }
    if statistics.evictions > 0 {
      facts += ", \(StatusText.count(statistics.evictions)) evicted since the start"
    }
    return "<p class=\"facts\">\(facts).</p>\(fillLevel)"
  }

  private var fillLevel: HTML {
    guard let limit = report.limits.bytes, limit > 0 else { return "" }
    let used =
      report.limits.accounting == .logical
      ? report.statistics.logicalBytes : report.statistics.allocatedBytes
    let share = min(1, Double(used) / Double(limit))
    return """
      <svg class="shares level" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" \
      aria-label="\(StatusText.percent(share)) of the limit used">\
      <rect class="hit" width="\(Int(share * 1000))" height="10"/></svg>
      """
  }

  private var survey: HTML {
    guard let survey = report.survey else {
      return "<p class=\"note\">The entries are being counted; this shows in a moment.</p>"
    }
    return """
      <div class="three">
      \(names("By host", survey.hosts, none: "no URL"))
      \(names("By folder", survey.folders, none: "no URL"))
      \(names("By type", survey.types, none: "no type"))
      </div>
      <div class="pair">
      \(entries("Largest", survey.largest, "Stored") { $0.stored })
      \(entries("Longest unused", survey.oldest, "Used") { $0.accessed })
      </div>
      <p><a href="\(StatusPaths.sites)">All sites: search and forget</a></p>
      <p class="note">Counted \(StatusText.ago(survey.time, at: report.now)), in \
      \(StatusText.took(microseconds: UInt64(clamping: survey.nanoseconds / 1000))).</p>
      """
  }

  private func names(_ title: String, _ list: [WeightedNames.Weight], none: String) -> HTML {
    let most = max(1, list.first?.bytes ?? 1)
    let rows = list.map { weight -> HTML in
      """
      <tr><th scope="row"><span class="cut">\(weight.name.isEmpty ? none : weight.name)</span>\
      <svg class="bar" viewBox="0 0 1000 1" preserveAspectRatio="none" aria-hidden="true">\
      <rect width="\(Int(Double(weight.bytes) / Double(most) * 1000))" height="1"/></svg></th>\
      <td class="number">\(StatusText.count(weight.entries))</td>\
      <td class="number">\(StatusText.bytes(weight.bytes))</td></tr>

      """
    }
    return """
      <table class="names">
      <thead><tr><th scope="col">\(title)</th><th scope="col" class="number">Entries</th>\
      <th scope="col" class="number">Size</th></tr></thead>
      <tbody>
      \(HTML(rows))</tbody>
      </table>
      """
  }

  private func entries(
    _ title: String, _ list: [SurveyedEntry], _ timeTitle: String,
    time: (SurveyedEntry) -> Timestamp
  ) -> HTML {
    let rows = list.map { entry -> HTML in
      """
      <tr><td class="url">\(shown(entry.url))</td>\
      <td class="number">\(StatusText.bytes(entry.bytes))</td>\
      <td class="number">\(StatusText.ago(time(entry), at: report.now))</td></tr>

      """
    }
    return """
      <table class="entries">
      <thead><tr><th scope="col">\(title)</th><th scope="col" class="number">Size</th>\
      <th scope="col" class="number">\(timeTitle)</th></tr></thead>
      <tbody>
      \(HTML(rows))</tbody>
      </table>
      """
  }
}
