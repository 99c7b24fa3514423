/// The list of the sites in the store, for people: with a search, and a button that removes a site.
///
/// It needs no script, and like ``StatusPage`` it is well-formed XML.
struct SitesPage {
  /// The number of sites that are shown; the search finds the others.
  static let maximumSites = 200

  /// The survey of the store, or `nil` during the first walk.
  let survey: StoreSurvey?
  let query: SitesQuery
  /// The number that allows the style in a browser (Content Security Policy).
  let nonce: String
  /// The proof that this page asks; `nil` if nothing can be removed from here.
  let token: String?
  let isOffline: Bool

  /// One host, with all its entries.
  struct Site: Hashable {
    var host: String
    /// Whether some of it was fetched by https.
    var isEncrypted = false
    var entries: UInt64 = 0
    var bytes: UInt64 = 0
  }

  var html: HTML {
    """
    \(StatusStyle.head(title: "Available offline \u{B7} OfflineCache", nonce: nonce))
    </head>
    <body>
    <header><h1>Available offline</h1></header>
    <main>
    <p class="lead">\(state) <span>Sites with something in the store</span></p>
    <form class="search" action="\(StatusPaths.sites)" method="get" role="search">
    <input type="search" name="q" value="\(query.search)" aria-label="Part of a name" \
    placeholder="Part of a name"/> <button>Search</button>
    </form>
    \(list)
    </main>
    <footer><p><a href="\(StatusPaths.page)">The state of the proxy</a></p></footer>
    </body>
    </html>

    """
  }

  private var state: HTML {
    isOffline
      ? "<span class=\"state offline\">Offline</span>"
      : "<span class=\"state online\">Online</span>"
  }

  private var list: HTML {
    guard let survey else {
      return "<p class=\"note\">The entries are being counted; load the page again.</p>"
    }
    let sites = Self.sites(survey.sites, matching: query.search)
    guard !sites.isEmpty else {
      return query.search.isEmpty
        ? "<p class=\"note\">Nothing is stored yet. Open a page, and its site is listed here.</p>"
        : "<p class=\"note\">No site has this in its name.</p>"
    }
    let left = sites.count - Self.maximumSites
    let more: HTML =
      left > 0
      ? "<p class=\"note\">\(left) smaller sites are not shown; search for them.</p>" : ""
    return """
      <section class="card">
      <table class="names sites">
      <thead><tr><th scope="col">Site</th><th scope="col" class="number">Entries</th>\
      <th scope="col" class="number">Size</th><th scope="col" class="number"></th></tr></thead>
      <tbody>
      \(HTML(sites.prefix(Self.maximumSites).map(row)))</tbody>
      </table>
      \(more)
      </section>
      """
  }

  private func row(_ site: Site) -> HTML {
    let scheme = site.isEncrypted ? "https" : "http"
    return """
      <tr><th scope="row"><a class="cut" href="\(scheme)://\(site.host)/">\(site.host)</a></th>\
      <td class="number">\(StatusText.count(site.entries))</td>\
      <td class="number">\(StatusText.bytes(site.bytes))</td>\
      <td class="number">\(button(site))</td></tr>

      """
  }

  private func button(_ site: Site) -> HTML {
    guard let token else { return "" }
    return """
      <form method="post" action="\(query.forgetting(site.host, token: token))">\
      <button title="Forget \(site.host)">Forget</button></form>
      """
  }

  /// Returns the sites with a part in their name, the one with the most bytes first.
  ///
  /// - Parameter weights: Scheme and host, with entries and bytes.
  static func sites(_ weights: [WeightedNames.Weight], matching part: String) -> [Site] {
    var sites: [String: Site] = [:]
    let part = part.lowercased()
    for weight in weights {
      guard let end = weight.name.firstRange(of: "://") else { continue }
      let host = String(weight.name[end.upperBound...])
      guard part.isEmpty || host.lowercased().contains(part) else { continue }
      sites[host, default: Site(host: host)].entries += weight.entries
      sites[host]?.bytes &+= weight.bytes
      if weight.name.hasPrefix("https:") { sites[host]?.isEncrypted = true }
    }
    return sites.values.sorted { ($0.bytes, $0.entries, $1.host) > ($1.bytes, $1.entries, $0.host) }
  }
}
