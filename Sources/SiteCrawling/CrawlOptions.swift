package import CacheStore
package import HTTPSemantics

package struct CrawlOptions: Sendable {
  /// How many links away from the start pages are followed.
  package var depth: Int
  /// Whether links to other hosts than those of the start pages are left out. Parts of a page are
  /// fetched from any host, and redirects lead to any host.
  package var staysOnHost = false
  /// The limit of the bytes of content from servers; `nil` for none.
  package var limitBytes: UInt64?
  package var connectionsPerHost = 1
  /// The seconds for which a stored response is used without asking its server; `nil`: as the
  /// server says.
  package var lifetime: Int64?
  /// The product token in a robots.txt (RFC 9309, section 2.2.1); it has to be in the `User-Agent`.
  package var agent = "OfflineCache"
  /// The limit of the memory for URLs and for the rules of hosts, in bytes: about 250,000 URLs.
  package var frontierBytes = 128 << 20
  /// Returns the text for an error in the report.
  package var text: @Sendable (any Error) -> String = { "\($0)" }
  /// Waits before a request is sent again; set by tests.
  package var wait: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }

  /// The time for which a body without a length is read; set by tests.
  package var longestBody = Duration.seconds(600)

  /// The limit of the requests at once, to all hosts.
  package static let maximumRequests = 16
  /// How much of a document is searched for references, in bytes.
  static let maximumPageBytes = 16 << 20
  /// How much of a body is read that is not kept, in bytes.
  static let maximumUnkeptBytes = 256 << 10
  /// The processor time after which a document is not searched any more.
  static let maximumReadingNanoseconds: Int64 = 5_000_000_000
  /// The limit of parts within parts, such as style sheets that import one another.
  package static let maximumNesting = 10
  /// The limit of redirects in a row.
  package static let maximumRedirects = 20
  /// How often a request is sent again if the server is busy (429 or 503).
  package static let maximumRetries = 3
  /// The longest wait before that, in seconds. If a server asks for more, the request has failed.
  static let maximumWait: Int64 = 60
  /// The limit of ``lifetime`` for a robots.txt, in seconds (RFC 9309, section 2.4).
  static let longestRulesLifetime: Int64 = 86_400
  /// After so many failed connections in a row, a host is not asked any more.
  package static let maximumFailures = 5
}

extension CrawlOptions {
  package init(depth: Int) { self.depth = depth }
}

/// A URL to fetch, and why.
package struct CrawlItem: Sendable {
  package var url: NormalizedURL
  /// The document that has the reference; `nil` for a start page.
  package var referrer: NormalizedURL?
  /// How many links it is away from a start page.
  package var depth = 0
  /// How deep it is in parts of the page: 0 for a page.
  package var nesting = 0
  /// The redirects that have led here.
  package var redirects: [NormalizedURL] = []
}

/// What became of a URL.
package enum CrawlOutcome: Sendable {
  /// It is in the store; fetched now, or there already.
  case kept(isNew: Bool)
  /// The server answered, but there is no such page.
  case refused(status: Int)
  /// There is no good answer, or it could not be kept.
  case failed(String)
  /// The robots.txt of the host does not allow it.
  case disallowed
  /// It was not fetched, because a limit was reached.
  case leftOut
}

package struct CrawlSummary: Sendable, Hashable {
  /// The URLs that were fetched and kept.
  package var fetched = 0
  package var stored = 0
  /// The URLs that servers refused (4xx).
  package var notFound = 0
  package var failed = 0
  /// The pages among ``failed`` that are not kept because they say `no-store`.
  package var noStore = 0
  /// The URLs that a robots.txt does not allow.
  package var disallowed = 0
  /// The start pages, and targets of their redirects, among ``disallowed``.
  package var disallowedStarts = 0
  /// The URLs that were known, but not fetched, because a limit was reached or the crawl ended.
  package var leftOut = 0
  /// The bytes of content from servers.
  package var bytes: UInt64 = 0
  /// Whether ``CrawlOptions/limitBytes`` was reached.
  package var reachedLimit = false
  /// The error of the store that has ended the crawl: at a limit, it would have to evict pages of this
  /// crawl (`leastRecent`), or its folder is not there any more (`notFound`).
  package var storeError: StoreError?
  /// Whether ``CrawlOptions/frontierBytes`` was reached.
  package var filledFrontier = false

  package var done: Int { fetched + stored + notFound + failed + disallowed }
}
