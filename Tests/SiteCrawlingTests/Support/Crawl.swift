import CacheClient
import CacheStore
import CacheSystem
import ClientTesting
import SiteCrawling
import Synchronization

typealias Answer = ScriptedTransport.Answer

/// A crawl of a site in memory, and what was reported.
final class Crawl {
  private final class Waits: Sendable {
    let all = Mutex<[Duration]>([])
  }

  let folder = TemporaryFolder()
  let transport: ScriptedTransport
  let store: Store
  var clock: any WallClock = SystemClock()
  var outcomes: [String: CrawlOutcome] = [:]
  var sources: [String: String] = [:]
  private let waitsBefore = Waits()

  init(_ pages: [String: Answer], limits: Limits = .none) throws {
    transport = ScriptedTransport { request in
      .success(pages[request.url.string] ?? Answer("no", status: 404))
    }
    store = try Store(at: "\(folder.path)/store", options: Options(limits: limits))
  }

  deinit { store.close() }

  func run(
    _ start: String = "http://a.test/", _ options: CrawlOptions = CrawlOptions(depth: 10)
  ) async throws -> CrawlSummary {
    var clientOptions = ClientOptions()
    clientOptions.rules.keepsHistory = true
    var options = options
    options.wait = { [waitsBefore] wait in waitsBefore.all.withLock { $0.append(wait) } }
    let client = CachingClient(
      store: store, transport: transport, options: clientOptions, clock: clock)
    return await Crawler(client: client, options: options).run([try NormalizedURL(start)]) {
      item, outcome, _, _ in
      outcomes[item.url.string] = outcome
      sources[item.url.string] = (item.redirects.last ?? item.referrer)?.string
    }
  }

  /// The waits before requests were sent again.
  var waits: [Duration] { waitsBefore.all.withLock { $0 } }

  /// The requests but those for robots.txt, without `http://`.
  var asked: [String] {
    transport.requests.map { String($0.url.string.dropFirst(7)) }
      .filter { !$0.hasSuffix("/robots.txt") }
  }
}

/// Makes a page that is fresh for a time.
func page(_ html: String, _ fields: HTTPField...) -> Answer {
  Answer(
    html,
    fields: HTTPFields(
      [HTTPField("Content-Type", "text/html"), HTTPField("Cache-Control", "max-age=1000")]
        + fields))
}

/// Makes a style sheet.
func style(_ css: String) -> Answer {
  Answer(css, fields: [HTTPField("Content-Type", "text/css; charset=utf-8")])
}
