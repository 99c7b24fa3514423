package import CacheClient
package import HTTPSemantics
import SiteParsing

/// Fills a store with a site: the start pages, what they link to, and the parts of all of them.
///
/// It honours robots.txt, and fetches each URL once. What is fresh in the store is not fetched, so a
/// crawl that was ended goes on where it was when it is started again.
package struct Crawler: Sendable {
  private let options: CrawlOptions
  private let fetcher: PageFetcher

  /// Creates a crawler; nothing is fetched yet. The options of the client say how pages are kept,
  /// and whether redirects may lead from `https` to `http`.
  package init(client: CachingClient, options: CrawlOptions) {
    self.options = options
    fetcher = PageFetcher(
      client: client, options: options, budget: ByteBudget(limit: options.limitBytes))
  }

  private enum Done: Sendable {
    case page(FetchedPage)
    case rules(Result<RobotsRules, NoRules>, of: NormalizedURL)
  }

  /// Fetches everything. Ends early when the task is cancelled.
  ///
  /// - Parameters:
  ///   - starts: The start pages.
  ///   - report: Is called with each URL that is done, and the numbers so far, one after the other;
  ///     `known` is the number of known URLs.
  /// - Returns: the numbers.
  package func run<Failure: Error>(
    _ starts: [NormalizedURL],
    report: (CrawlItem, CrawlOutcome, CrawlSummary, _ known: Int) throws(Failure) -> Void
  ) async throws(Failure) -> CrawlSummary {
    fetcher.client.store.keepRecent(true)
    defer { fetcher.client.store.keepRecent(false) }
    var state = CrawlState(options)
    for url in starts { state.addStart(url) }
    var fetcher = fetcher
    let failure: Failure? = await withTaskGroup(of: Done.self) { group in
      var running = 0
      do throws(Failure) {
        repeat {
          while !Task.isCancelled, !fetcher.budget.isSpent, state.summary.storeError == nil,
            running < CrawlOptions.maximumRequests, let step = state.frontier.next()
          {
            switch step {
            case .readRules(let url):
              group.addTask { [fetcher] in .rules(await fetcher.rules(at: url), of: url) }
              running += 1
            case .fetch(let item):
              fetcher.hosts = state.hosts
              group.addTask { [fetcher] in .page(await fetcher.fetch(item)) }
              running += 1
            case .leave(let item, let outcome):
              state.count(outcome, of: item)
              try report(item, outcome, state.summary, state.frontier.knownCount)
            }
          }
          switch running > 0 ? await group.next() : nil {
          case .rules(let rules, let url):
            running -= 1
            state.frontier.setRules(rules, of: url)
          case .page(let page):
            running -= 1
            state.add(page, bytes: fetcher.budget.bytes)
            try report(page.item, page.outcome, state.summary, state.frontier.knownCount)
          case nil:
            if Task.isCancelled || fetcher.budget.isSpent || state.summary.storeError != nil
              || !state.frontier.startNextLevel()
            {
              return nil
            }
          }
        } while true
      } catch {
        group.cancelAll()
        return error
      }
    }
    if let failure { throw failure }
    return state.end(reachedLimit: fetcher.budget.isSpent, bytes: fetcher.budget.bytes)
  }
}

private struct CrawlState {
  let options: CrawlOptions
  var frontier: Frontier
  var summary = CrawlSummary()
  private(set) var hosts: Set<String> = []

  init(_ options: CrawlOptions) {
    self.options = options
    frontier = Frontier(
      limitBytes: options.frontierBytes, connectionsPerHost: options.connectionsPerHost)
  }

  mutating func addStart(_ url: NormalizedURL) {
    hosts.insert(url.host)
    add(CrawlItem(url: url))
  }

  /// Adds what a page refers to, and counts the page.
  mutating func add(_ page: FetchedPage, bytes: UInt64) {
    summary.bytes = bytes
    let item = page.item
    frontier.finish(item.url, isReachable: page.isReachable)
    count(page.outcome, of: item)
    if page.isNoStore { summary.noStore += 1 }
    if let error = page.storeError {
      summary.storeError = summary.storeError ?? error
      return
    }
    if let target = page.redirect {
      var next = item
      next.url = target
      next.redirects.append(item.url)
      // `example.org` often redirects to `www.example.org`.
      if item.referrer == nil { hosts.insert(target.host) }
      add(next)
    }
    if item.nesting < CrawlOptions.maximumNesting {
      // The last one that is added is given out first.
      for url in page.requisites.reversed() {
        var next = CrawlItem(url: url, referrer: item.url)
        (next.depth, next.nesting) = (item.depth, item.nesting + 1)
        add(next)
      }
    }
    if item.depth < options.depth {
      for url in page.links where !options.staysOnHost || hosts.contains(url.host) {
        var next = CrawlItem(url: url, referrer: item.url)
        next.depth = item.depth + 1
        add(next, atNextLevel: true)
      }
    }
  }

  mutating func count(_ outcome: CrawlOutcome, of item: CrawlItem) {
    switch outcome {
    case .kept(isNew: true): summary.fetched += 1
    case .kept(isNew: false): summary.stored += 1
    case .refused(let status) where (400...499).contains(status): summary.notFound += 1
    case .refused, .failed: summary.failed += 1
    case .disallowed:
      summary.disallowed += 1
      if item.referrer == nil { summary.disallowedStarts += 1 }
    case .leftOut: summary.leftOut += 1
    }
  }

  mutating func end(reachedLimit: Bool, bytes: UInt64) -> CrawlSummary {
    summary.leftOut += frontier.waitingCount
    summary.reachedLimit = reachedLimit && summary.leftOut > 0
    summary.filledFrontier = frontier.isFull
    summary.bytes = bytes
    return summary
  }

  private mutating func add(_ item: CrawlItem, atNextLevel: Bool = false) {
    if !frontier.add(item, atNextLevel: atNextLevel) { summary.leftOut += 1 }
  }
}
