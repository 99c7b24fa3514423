internal import CacheStore

/// The page for people: one document that contains everything it needs.
///
/// It works without its script, which only replaces `main` every few seconds by that of a newer
/// page. It is also well-formed XML, so that tests can read it with a strict parser.
struct StatusPage {
  let report: StatusReport
  /// The number that allows the style and the script in a browser (Content Security Policy).
  let nonce: String

  var html: HTML {
    """
    \(StatusStyle.head(title: title, nonce: nonce))
    <noscript><meta http-equiv="refresh" content="10"/></noscript>
    </head>
    <body>
    \(header)
    <main>
    \(lead)
    \(glance)
    \(isUnused ? usage : activity)
    \(recent)
    \(contents)
    \(remote)
    </main>
    <footer>
    <p>The same as JSON: <a href="\(StatusPaths.json)">\(StatusPaths.json)</a></p>
    </footer>
    <script nonce="\(nonce)">\(StatusScript.text)</script>
    </body>
    </html>

    """
  }

  /// Whether there have been no requests yet.
  var isUnused: Bool { report.traffic.total.all == 0 }

  /// Returns a URL for display. Behind a reverse proxy the origin is left out, because it would be
  /// on every line.
  func shown(_ url: String) -> String {
    guard let origin = report.facts.origin, url.hasPrefix("\(origin)/") else { return url }
    return String(url.dropFirst(origin.count))
  }

  private var title: String {
    let rate = report.traffic.total.hitRate.map { "\(StatusText.percent($0)) hits \u{B7} " } ?? ""
    return "\(rate)OfflineCache"
  }

  private var header: HTML {
    """
    <header>
    <h1>OfflineCache</h1>
    <p id="lost" role="status">The proxy does not answer. These are its last numbers.</p>
    <button type="button" id="live" aria-pressed="true" hidden="">Live</button>
    </header>
    """
  }

  /// The kind of the proxy, in one line.
  private var lead: HTML {
    let role = report.facts.isShared ? "Shared" : "Private"
    let kind: HTML
    if let origin = report.facts.origin {
      kind = "\(role) cache in front of <code>\(origin)</code>"
    } else {
      kind = "\(role) forward proxy at <code>\(report.facts.address)</code>"
    }
    let state: HTML =
      report.facts.isOffline
      ? "<span class=\"state offline\">Offline: the store alone answers</span>"
      : "<span class=\"state online\">Online</span>"
    return """
      <p class="lead">\(state) <span>\(kind)</span> \
      <span>up \(StatusText.duration(seconds: report.uptimeSeconds))</span></p>
      """
  }

  private var glance: HTML {
    let total = report.traffic.total
    let recent = report.traffic.last(seconds: Traffic.keptSeconds).hitRate
    let peak = report.traffic.seconds.map(\.counts.all).max() ?? 0
    let sent = StatusText.bytes(total.sentBytes)
    return """
      <dl class="glance">
      \(figure("Hit rate", (recent ?? total.hitRate).map(StatusText.percent) ?? "\u{2013}",
        rateNote(recent, total.hitRate), isFirst: true))
      \(figure("Requests per second", StatusText.rate(report.answersPerSecond),
        "at most \(StatusText.count(peak)) in the last 5 minutes"))
      \(figure("Saved for the origin", StatusText.bytes(total.savedBytes), "of \(sent) sent"))
      \(figure("In the store", StatusText.count(UInt64(report.statistics.entries)),
        "\(report.statistics.entries == 1 ? "entry" : "entries"), \(spaceUsed)"))
      </dl>
      """
  }

  private func rateNote(_ recent: Double?, _ total: Double?) -> String {
    if recent != nil { return "in the last 5 minutes" }
    return total == nil ? "no answers yet" : "since the start"
  }

  private var spaceUsed: String {
    let used = StatusText.bytes(report.statistics.allocatedBytes)
    guard let limit = report.limits.bytes else { return "\(used) on disk" }
    return "\(used) of \(StatusText.bytes(limit))"
  }

  private func figure(
    _ name: String, _ value: String, _ note: String, isFirst: Bool = false
  ) -> HTML {
    """
    <div class="\(isFirst ? "figure first" : "figure")"><dt>\(name)</dt>\
    <dd class="big">\(value)</dd><dd class="note">\(note)</dd></div>
    """
  }

  /// Instructions for the first use, shown as long as there have been no requests.
  private var usage: HTML {
    let address = report.facts.address
    let isForward = report.facts.origin == nil
    let command = isForward ? "curl -i -x \(address) http://example.org/" : "curl -i \(address)/"
    let always: HTML =
      isForward
      ? """
      <p>For all programs of a shell that ask over http:</p>
      <pre><code>export http_proxy=\(address)</code></pre>
      """ : "<p>Or open <a href=\"/\">the site</a> through the proxy.</p>"
    let empty: HTML =
      report.facts.isOffline && report.statistics.entries == 0
      ? """
      <p class="warning">The store is empty, and offline nothing can be fetched. Start once \
      without <code>--offline</code> and ask for what you will need.</p>
      """ : ""
    return """
      <section class="card usage" aria-labelledby="usage">
      <h2 id="usage">Nothing has been asked yet</h2>
      \(empty)
      <p>Ask for something twice; the second answer comes from the store:</p>
      <pre><code>\(command)</code></pre>
      \(always)
      </section>
      """
  }
}
