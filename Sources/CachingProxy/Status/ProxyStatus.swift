internal import CacheFormat
package import CacheStore
package import CacheSystem
internal import HTTPSemantics
package import RemoteTier

/// Facts about a proxy that the status pages show besides numbers.
package struct ProxyFacts: Sendable, Hashable {
  /// Whether it is a shared cache (RFC 9111) rather than a private one.
  package var isShared: Bool

  /// The origin of a reverse proxy, such as `http://127.0.0.1:9000`, without a slash at its end;
  /// `nil` for a forward proxy.
  package var origin: String?

  /// Whether answers come only from the store.
  package var isOffline: Bool

  /// The URL at which clients reach it, such as `http://127.0.0.1:8080`.
  package var address: String

  /// Whether other machines can connect. Then nothing can be changed from its pages.
  package var isOpenToOthers = true

  package init(isShared: Bool, origin: String?, isOffline: Bool, address: String) {
    self.isShared = isShared
    self.origin = origin.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    self.isOffline = isOffline
    self.address = address
  }
}

/// Counts the answers of a proxy, and shows the counts: as JSON at `/.offlinecache/status`, and as
/// a page for people at `/.offlinecache/`.
///
/// All its data has a fixed size. Docs/Serve.md has the names in the JSON.
package final class ProxyStatus: ProxyObserver {
  private let store: Store
  private let facts: Lock<ProxyFacts>
  private let clock: any WallClock
  private let started: Timestamp
  private let traffic = Traffic()
  private let surveyor: StoreSurveyor
  /// Known to the list of sites only, so that no other page can have a site removed.
  private let token = ProxyStatus.makeNonce()
  private let remote: @Sendable () -> RemoteStatistics?
  private let forget: @Sendable (ByteString) throws(StoreError) -> Void

  /// Creates the status of a proxy that starts now.
  ///
  /// - Parameters:
  ///   - patienceNanoseconds: The longest time that a page waits for a walk through the store.
  ///   - remote: Returns the numbers of the second tier, or `nil` if there is none.
  ///   - forget: Removes the responses whose keys begin with a prefix, also those that are just received.
  package init(
    store: Store, facts: ProxyFacts, clock: any WallClock = SystemClock(),
    patienceNanoseconds: Int64 = 100_000_000,
    remote: @escaping @Sendable () -> RemoteStatistics? = { nil },
    forget: @escaping @Sendable (ByteString) throws(StoreError) -> Void
  ) {
    self.remote = remote
    self.forget = forget
    self.store = store
    self.facts = Lock(facts)
    self.clock = clock
    started = Timestamp(nanoseconds: clock.now())
    surveyor = StoreSurveyor(store, clock: clock, patienceNanoseconds: patienceNanoseconds)
  }

  /// Sets the URL at which clients reach the proxy, and whether other machines can. A server knows
  /// its port only once it listens.
  package func setAddress(_ address: String, isOpenToOthers: Bool) {
    facts.withLock { facts in
      facts.address = address
      facts.isOpenToOthers = isOpenToOthers
    }
  }

  package static var sitesPath: String { StatusPaths.sites }

  /// Records an answer.
  ///
  /// - Complexity: O(1), and one short lock.
  package func answered(_ record: AnswerRecord) {
    traffic.add(record)
  }

  package func tunnelBegan() { traffic.tunnelBegan() }

  /// Returns the page for a path below `/.offlinecache/`, or `nil` if there is none. Not called on the
  /// threads of the server.
  ///
  /// The first call, and then at most one every two seconds, starts a walk through the store on a
  /// thread, and waits for it, but not long. The result of a longer walk appears in a later page.
  ///
  /// - Parameter refusedHosts: The hosts that are tunnelled because clients have refused our
  ///   certificate.
  package func answer(
    path: String, query: String, refusedHosts: @autoclosure () -> [String] = []
  ) -> ProxyPage? {
    switch path {
    case StatusPaths.page, String(StatusPaths.page.dropLast()):
      let nonce = Self.makeNonce()
      return ProxyPage(
        contentType: "text/html; charset=utf-8", fields: Self.pageFields(nonce: nonce),
        body: Array(StatusPage(report: report(refusedHosts()), nonce: nonce).html.text.utf8))
    case StatusPaths.json:
      return ProxyPage(
        contentType: "application/json", body: Array((report(refusedHosts()).json + "\n").utf8))
    case StatusPaths.sites: return sites(query)
    default: return nil
    }
  }

  /// Removes a site, if the list of sites asks, and no other machine can use the proxy; `nil` for
  /// another path.
  ///
  /// - Parameter isOwn: Whether a page of the proxy itself asks, by the field `Origin`.
  package func change(path: String, query: String, isOwn: Bool) -> ProxyPage? {
    guard path == StatusPaths.forget else { return nil }
    let query = SitesQuery(query)
    guard isOwn, !facts.withLock({ $0.isOpenToOthers }), query.token == token,
      let host = query.host
    else {
      return Self.text(
        403, "This needs the list of sites, of a proxy that no other machine can use.")
    }
    do throws(StoreError) {
      for prefix in SitesQuery.prefixes(of: host) { try forget(prefix) }
    } catch {
      return Self.text(500, "The site could not be removed: \(error)")
    }
    surveyor.renew()
    return ProxyPage(
      status: 303, contentType: "text/plain",
      fields: [HTTPField("Location", query.list)], body: [])
  }

  private static func text(_ status: Int, _ words: String) -> ProxyPage {
    ProxyPage(
      status: status, contentType: "text/plain; charset=utf-8", body: Array((words + "\n").utf8))
  }

  private func sites(_ query: String) -> ProxyPage {
    let nonce = Self.makeNonce()
    let facts = facts.withLock { $0 }
    let page = SitesPage(
      survey: surveyor.survey(), query: SitesQuery(query), nonce: nonce,
      token: facts.isOpenToOthers ? nil : token, isOffline: facts.isOffline)
    return ProxyPage(
      contentType: "text/html; charset=utf-8",
      fields: Self.pageFields(nonce: nonce, hasForms: true),
      body: Array(page.html.text.utf8))
  }

  /// Ends all background work. It must be called before the store is closed.
  package func stop() {
    surveyor.stop()
  }

  private func report(_ refusedHosts: [String]) -> StatusReport {
    // The survey may wait, so it is made before the clock is read.
    let survey = surveyor.survey()
    let now = Timestamp(nanoseconds: clock.now())
    return StatusReport(
      facts: facts.withLock { $0 }, now: now, started: started, storePath: store.path,
      statistics: store.statistics, limits: store.limits, traffic: traffic.report(at: now),
      leftAlone: refusedHosts, survey: survey, remote: remote())
  }
}

// The fields for browsers.
extension ProxyStatus {
  /// Returns the fields that allow only the contents of the page itself: its style, its script, and
  /// requests for the page.
  ///
  /// - Parameter hasForms: Whether the page has forms. Their requests carry the field `Origin` only
  ///   if the referrer is not hidden from the page's own server.
  private static func pageFields(nonce: String, hasForms: Bool = false) -> HTTPFields {
    let policy = [
      "default-src 'none'", "style-src 'nonce-\(nonce)'", "script-src 'nonce-\(nonce)'",
      "connect-src 'self'", "img-src data:", "base-uri 'none'",
      "form-action \(hasForms ? "'self'" : "'none'")",
      "frame-ancestors 'none'",
    ]
    return [
      HTTPField("Content-Security-Policy", policy.joined(separator: "; ")),
      HTTPField("Referrer-Policy", hasForms ? "same-origin" : "no-referrer"),
    ]
  }

  /// Returns an unpredictable number, 128 bits in hex digits, new for each page.
  private static func makeNonce() -> String {
    var generator = SystemRandomNumberGenerator()
    let number = UInt128(generator.next()) << 64 | UInt128(generator.next())
    return String(number, radix: 16)
  }
}
