import CacheClient
import CommandLineTools
import CurlHTTP
import HTTPSemantics
import SiteCrawling

enum CrawlCommand: ToolCommand {
  private static let urls = Parameter(
    "url", .address, .oneOrMore, help: "The pages to start with; http or https")
  private static let depth = Option(
    "depth", short: "d", .integer(in: 0...1000), default: 1,
    help: "How many links away from them to go; 0 fetches the pages alone, with their parts")
  private static let sameHost = Flag(
    "same-host",
    help: "Follow no links to other hosts; parts of a page are fetched from any host")
  private static let limit = Option(
    "limit", .size(in: 1...UInt64(Int64.max)), defaultText: "no limit",
    help: "End when so many bytes of content have come from servers")
  private static let perHost = Option(
    "per-host", .integer(in: 1...CrawlOptions.maximumRequests), default: 1,
    help: "The number of connections to one host; several hosts are always fetched from at once")
  private static let freshFor = Option(
    "fresh-for", .seconds, defaultText: "as the server says",
    help: "Do not ask again for what came within this time; for robots.txt, a day at most")
  private static let quiet = Flag(
    "quiet", short: "q", help: "Print failures only, no progress and no summary")

  private static let incomplete = ExitStatus(rawValue: 3)

  static let declaration = Command(
    "crawl", summary: "Fills the store with a site: pages, what they link to, and all their parts",
    discussion: [
      "Each page that fails gets a line on standard output, and one that says which page links to "
        + "it; the summary goes to standard error. With --json, each failure is an object of one "
        + "line, with 'url', 'linked_from', 'outcome' and 'reason', and so is the summary, the "
        + "last line.",
      "What is fresh in the store is not fetched again, so a crawl that was interrupted goes on "
        + "when it is started again. The robots.txt of each host is obeyed (for 'OfflineCache'), "
        + "and so is rel=nofollow. Links that scripts make are not seen.",
    ],
    parameters: [urls],
    options: [depth, sameHost, limit, perHost, freshFor, quiet, Declarations.json]
      + NetworkOptions.allForTransfers + [FingerprintOption.option] + HistoryOption.all,
    examples: [
      .init(
        "offlinecache crawl https://example.org/docs/ --depth 5 --same-host --limit 500M",
        "Keeps a site for use without a network"),
      .init(
        "offlinecache serve --listen 127.0.0.1:3128 --intercept --offline", "Then shows it"),
    ],
    exitStatuses: [
      (.success, "Everything is in the store"),
      (.notFound, "Pages do not exist (4xx); everything else is in the store"),
      (
        .failure,
        "Pages failed or could not be stored, or robots.txt does not allow a start page; takes "
          + "precedence over 3 and 1"
      ),
      (incomplete, "A limit was reached, --limit or one of the store; takes precedence over 1"),
    ])

  static func run(_ invocation: Invocation) async throws -> ExitStatus {
    let addresses = invocation[urls]
    let starts = try addresses.map { try NormalizedURL($0) }
    let setup = try NetworkOptions.setup(invocation)
    var clientOptions = ClientOptions(transport: NetworkOptions.transportOptions(invocation))
    clientOptions.fingerprintKey = try FingerprintOption.read(invocation)
    try HistoryOption.apply(invocation, to: &clientOptions.rules)
    let login = try LoginOption.read(invocation, for: addresses)
    clientOptions.credentials = login?.provider
    var options = CrawlOptions(depth: invocation.value(of: depth))
    options.staysOnHost = invocation[sameHost]
    options.limitBytes = invocation[limit]
    options.connectionsPerHost = invocation.value(of: perHost)
    options.lifetime = invocation[freshFor]?.wholeSeconds
    options.text = OptionAdvice.text
    let report = CrawlReport(
      isQuiet: invocation[quiet], asJSON: invocation[Declarations.json])
    return try await withStore(invocation, .fill) { store in
      let client = CachingClient(
        store: store, transport: try CurlTransport(setup), options: clientOptions)
      login?.use(by: client)
      let crawler = Crawler(client: client, options: options)
      let result = await Interruption.cancelling {
        try await crawler.run(starts, report: report.add)
      }
      let summary = try report.finish(result)
      try Interruption.check()
      return status(of: summary)
    }
  }

  private static func status(of summary: CrawlSummary) -> ExitStatus {
    if summary.failed + summary.disallowedStarts > 0 || summary.storeError?.code == .notFound {
      return .failure
    }
    if summary.leftOut > 0 { return incomplete }
    return summary.notFound > 0 ? .notFound : .success
  }
}
