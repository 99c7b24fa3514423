import CacheClient
import ClientTesting
import SiteCrawling
import Testing

@Suite(.timeLimit(.minutes(2))) struct FrontierTests {
  @Test func `an endless space of links ends with the depth, and with the memory`() async throws {
    let crawl = try Crawl([:])
    let html = { @Sendable (number: Int) in
      (0..<10).map { "<a href=/\(number * 10 + $0 + 1)></a>" }.joined()
    }
    crawl.transport.set { request in
      request.url.target == "/robots.txt"
        ? .success(Answer("", status: 404))
        : .success(page(html(Int(request.url.target.dropFirst()) ?? 0)))
    }
    let bounded = try await crawl.run("http://a.test/0", CrawlOptions(depth: 2))
    #expect(bounded.fetched == 111 && bounded.leftOut == 0)
    var options = CrawlOptions(depth: 1000)
    options.frontierBytes = 50_000
    let full = try await crawl.run("http://a.test/0", options)
    #expect(full.filledFrontier && full.leftOut > 0 && full.done < 150)
  }

  @Test func `chains of style sheets and frames end`() async throws {
    let crawl = try Crawl([:])
    crawl.transport.set { request in
      let number = Int(request.url.target.dropFirst()) ?? 0
      return .success(page("<iframe src=/\(number + 1)></iframe>"))
    }
    let summary = try await crawl.run("http://a.test/0", CrawlOptions(depth: 0))
    #expect(summary.fetched == 1 + CrawlOptions.maximumNesting)
  }
}
