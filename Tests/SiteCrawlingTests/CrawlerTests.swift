import CacheClient
import CacheStore
import ClientTesting
import Synchronization
import Testing

@testable import SiteCrawling

@Suite(.timeLimit(.minutes(2))) struct CrawlerTests {
  @Test func `links are followed to a depth, and parts do not count`() async throws {
    let crawl = try Crawl([
      "http://a.test/": page("<a href=1>1</a><link rel=stylesheet href=s.css>"),
      "http://a.test/1": page("<a href=2>2</a><img src=i>"),
      "http://a.test/2": page("<img src=j><a href=3>"),
      "http://a.test/s.css": style("@import 't.css';"),
      "http://a.test/t.css": style("p { background: url(k) } @import 's.css'"),
    ])
    let first = try await crawl.run("http://a.test/", CrawlOptions(depth: 1))
    #expect(
      crawl.asked == [
        "a.test/", "a.test/s.css", "a.test/t.css", "a.test/k", "a.test/1", "a.test/i",
      ])
    #expect(first.fetched == 4 && first.notFound == 2)
    #expect(crawl.sources["http://a.test/k"] == "http://a.test/t.css")
    _ = try await crawl.run("http://a.test/", CrawlOptions(depth: 0))
    // Fresh pages are not fetched again, and what they refer to is found in the store.
    let second = try await crawl.run("http://a.test/", CrawlOptions(depth: 2))
    #expect(crawl.asked.contains("a.test/j") && !crawl.asked.contains("a.test/3"))
    #expect(crawl.asked.count { $0 == "a.test/1" } == 1)
    #expect(second.stored >= 2)
  }

  @Test func `other hosts are left out on request, but not for parts and redirects`() async throws {
    let crawl = try Crawl([
      "http://a.test/": .init(
        "", status: 302, fields: [HTTPField("Location", "http://www.a.test/")]),
      "http://www.a.test/": page(
        "<a href=/1></a><a href=http://b.test/></a><img src=http://c.test/i><a href=/go></a>"),
      "http://www.a.test/go": .init(
        "", status: 302, fields: [HTTPField("Location", "http://d.test/x")]),
      "http://d.test/x": page("<a href=/y>"),
    ])
    let options = CrawlOptions(depth: 5, staysOnHost: true)
    _ = try await crawl.run("http://a.test/", options)
    #expect(
      Set(crawl.asked) == [
        "a.test/", "www.a.test/", "www.a.test/1", "www.a.test/go", "c.test/i", "d.test/x",
      ])
    _ = try await crawl.run("http://a.test/")
    #expect(Set(crawl.asked).isSuperset(of: ["b.test/", "d.test/y"]))
  }

  @Test func `robots_txt is obeyed, also by redirects, and nofollow`() async throws {
    let crawl = try Crawl([
      "http://a.test/robots.txt": Answer("User-agent: *\nDisallow: /no"),
      "http://a.test/": page("<a href=/no1></a><img src=/no2><a href=/go></a><a href=/meta></a>"),
      "http://a.test/go": .init("", status: 301, fields: [HTTPField("Location", "/no3")]),
      "http://a.test/meta": page("<meta name=robots content=nofollow><a href=x></a><img src=i>"),
    ])
    let summary = try await crawl.run()
    #expect(Set(crawl.asked) == ["a.test/", "a.test/go", "a.test/meta", "a.test/i"])
    #expect(summary.disallowed == 3 && summary.disallowedStarts == 0)
    #expect(try await crawl.run("http://a.test/no").disallowedStarts == 1)
  }

  @Test(arguments: [
    Limits(entries: 6), Limits(bytes: 6_000, accounting: .logical), Limits(bytes: 200_000),
  ])
  func `a limit of the store ends a crawl before it evicts its own pages`(
    limits: Limits
  ) async throws {
    let big = String(repeating: "x", count: 990)
    var pages = ["http://a.test/": page((1...30).map { "<a href=\($0)></a>" }.joined())]
    for number in 1...30 { pages["http://a.test/\(number)"] = page(big) }
    let crawl = try Crawl(pages, limits: limits)
    for number in 0..<3 { try crawl.store.put([1], for: ByteString("old\(number)")) }
    let summary = try await crawl.run()
    #expect(summary.storeError?.code == .leastRecent)
    #expect(summary.storeError?.cause.contains("the store has") == true)
    #expect(summary.leftOut > 0 && summary.failed == 0)
    #expect(summary.fetched + summary.leftOut == 31)
    #expect(!crawl.store.contains("old0"), "what others have stored before goes first")
    let there = Set(crawl.store.entries().map { "\($0.key)" })
    let kept = crawl.outcomes.filter { if case .kept = $0.value { true } else { false } }
    #expect(kept.count == summary.fetched)
    #expect(kept.keys.allSatisfy { there.contains("GET \($0)") })
    // Afterwards, the store evicts as before.
    try crawl.store.put([1], for: "new")
    #expect(crawl.store.contains("new"))
  }

  @Test func `the limit ends a crawl, and the next one goes on`() async throws {
    let big = String(repeating: "x", count: 1000)
    var pages = ["http://a.test/": page((1...9).map { "<a href=\($0)></a>" }.joined())]
    for number in 1...9 { pages["http://a.test/\(number)"] = page(big) }
    let crawl = try Crawl(pages)
    let options = CrawlOptions(depth: 1, limitBytes: 3000)
    let first = try await crawl.run("http://a.test/", options)
    #expect(first.reachedLimit && first.leftOut > 0 && first.bytes >= 3000 && first.bytes < 4100)
    let second = try await crawl.run("http://a.test/", CrawlOptions(depth: 1))
    #expect(second.stored == first.fetched && second.fetched + second.stored == 10)
    #expect(!second.reachedLimit)
  }

  @Test func `one connection to a host is used, or as many as are allowed`() async throws {
    for connections in [1, 3] {
      let running = Mutex((now: 0, most: 0))
      let crawl = try Crawl([:])
      let gates = Mutex<[Gate]>([])
      let start = page((1...12).map { "<a href=\($0)></a>" }.joined())
      crawl.transport.set { request in
        guard Int(request.url.target.dropFirst()) != nil else {
          return .success(request.url.target == "/" ? start : Answer("", status: 404))
        }
        running.withLock { state in
          state.now += 1
          state.most = max(state.most, state.now)
        }
        let gate = Gate()
        var answer = Answer("x")
        answer.headGate = gate
        let waiting = gates.withLock { gates in
          gates.append(gate)
          guard gates.count >= connections else { return [Gate]() }
          defer { gates = [] }
          return gates
        }
        running.withLock { $0.now -= waiting.count }
        for gate in waiting { gate.open() }
        return .success(answer)
      }
      let options = CrawlOptions(depth: 1, connectionsPerHost: connections)
      let summary = try await crawl.run("http://a.test/", options)
      #expect(summary.fetched == 13)
      #expect(running.withLock { $0.most } == connections)
    }
  }
}
