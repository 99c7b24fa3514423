import CacheClient
import ClientTesting
import SiteCrawling
import Synchronization
import Testing

@testable import SiteCrawling

@Suite(.timeLimit(.minutes(2))) struct PageFetcherTests {
  @Test(arguments: [
    (404, true), (403, true), (206, false), (429, false), (500, false), (503, false),
  ])
  func `without a robots_txt everything is allowed, unless the server fails`(
    status: Int, isAllowed: Bool
  ) async throws {
    let crawl = try Crawl([
      "http://a.test/robots.txt": Answer("x", status: status), "http://a.test/": page(""),
    ])
    let summary = try await crawl.run()
    #expect(summary.fetched == (isAllowed ? 1 : 0) && summary.failed == (isAllowed ? 0 : 1))
  }

  @Test(arguments: ["br", "zstd", "x-foo"])
  func `a robots_txt whose coding is not removed allows nothing`(coding: String) async throws {
    let coded = Answer([[0x0F, 0x0D, 0x80]], fields: [HTTPField("Content-Encoding", coding)])
    let crawl = try Crawl(["http://a.test/robots.txt": coded, "http://a.test/": page("")])
    let summary = try await crawl.run()
    #expect(summary.failed == 1 && crawl.asked == [])
    guard case .failed(let reason) = crawl.outcomes["http://a.test/"] else {
      return #expect(Bool(false))
    }
    #expect(
      reason.hasPrefix(
        "nothing is fetched from its host without its robots.txt: http://a.test/robots.txt: it came "
          + "with a content coding"))
  }

  /// RFC 9309, section 2.4.
  @Test func `the caller's lifetime holds for a robots_txt for a day at most`() async throws {
    let crawl = try Crawl([
      "http://a.test/robots.txt": Answer("", fields: fresh()), "http://a.test/": page(""),
    ])
    let clock = TestClock()
    crawl.clock = clock
    let options = CrawlOptions(depth: 0, lifetime: 7 * 86_400)
    for (hours, count) in [(0.0, 1), (23, 1), (2, 2)] {
      clock.advance(bySeconds: hours * 3600)
      _ = try await crawl.run("http://a.test/", options)
      #expect(crawl.transport.requests.count { $0.url.target == "/robots.txt" } == count)
    }
    #expect(crawl.asked == ["a.test/"])
  }

  @Test(arguments: [429, 503])
  func `a busy server is asked again when it says, a few times`(status: Int) async throws {
    let crawl = try Crawl([:])
    let start = page("<a href=b></a>")
    let count = Mutex(0)
    crawl.transport.set { request in
      guard request.url.target == "/" else { return .success(Answer("", status: 404)) }
      let number = count.withLock {
        $0 += 1
        return $0
      }
      if number == 3 { return .success(start) }
      let stated = number == 1 ? [HTTPField("Retry-After", "7")] : []
      return .success(Answer("busy", status: status, fields: HTTPFields(stated)))
    }
    let summary = try await crawl.run()
    #expect(summary.fetched == 1 && summary.failed == 0 && summary.notFound == 1)
    #expect(crawl.waits == [.seconds(7), .seconds(2)])
  }

  @Test(arguments: [429, 503])
  func `a server that stays busy, or for long, is a failure`(status: Int) async throws {
    // Even if the answer may be stored.
    let fields: HTTPFields = [HTTPField("Cache-Control", "max-age=1000")]
    let long = HTTPField("Retry-After", "61")
    let crawl = try Crawl([
      "http://a.test/": page("<a href=b></a><a href=c></a>"),
      "http://a.test/b": Answer("busy", status: status, fields: fields),
      "http://a.test/c": Answer("busy", status: status, fields: HTTPFields([long])),
    ])
    let summary = try await crawl.run()
    #expect(summary.fetched == 1 && summary.failed == 2 && summary.notFound == 0)
    #expect(crawl.waits == [.seconds(1), .seconds(2), .seconds(4)])
    #expect(crawl.asked.count { $0 == "a.test/b" } == 1 + CrawlOptions.maximumRetries)
    #expect(crawl.asked.count { $0 == "a.test/c" } == 1)
    guard case .failed(let reason) = crawl.outcomes["http://a.test/c"] else {
      return #expect(Bool(false))
    }
    #expect(reason.contains("it answered \(status) (Retry-After: 61)"))
  }

  @Test func `a host that cannot be reached fails with the reason`() async throws {
    let crawl = try Crawl([:])
    crawl.transport.disconnect()
    let summary = try await crawl.run()
    #expect(summary.failed == 1 && crawl.transport.requests.count == 1)
    guard case .failed(let reason) = crawl.outcomes["http://a.test/"] else {
      return #expect(Bool(false))
    }
    #expect(reason.contains("cannot be resolved"))
  }

  @Test func `a host that stops to answer is given up`() async throws {
    let links = (1...20).map { "<a href=\($0)></a>" }.joined()
    let crawl = try Crawl([:])
    let start = page(links)
    crawl.transport.set { request in
      request.url.target == "/"
        ? .success(start)
        : request.url.target == "/robots.txt"
          ? .success(Answer("", status: 404))
          : .failure(TransportError(.timeout, url: request.url.string))
    }
    let summary = try await crawl.run()
    #expect(summary.failed == 20)
    #expect(crawl.asked.count == 1 + CrawlOptions.maximumFailures)
  }

  @Test func `redirects in a circle, and without end, end`() async throws {
    let crawl = try Crawl([:])
    let start = page("<a href=/a></a><a href=/n0></a><a href=/self></a>")
    crawl.transport.set { request in
      let target = request.url.target
      let next =
        [
          "/a": "/b", "/b": "/a", "/self": "/self",
        ][target] ?? (Int(target.dropFirst(2)).map { "/n\($0 + 1)" })
      if target == "/" { return .success(start) }
      guard let next else { return .success(Answer("", status: 404)) }
      return .success(Answer("", status: 302, fields: [HTTPField("Location", next)]))
    }
    let summary = try await crawl.run()
    #expect(summary.failed == 3)
    #expect(crawl.asked.count == 1 + 2 + 1 + CrawlOptions.maximumRedirects + 1)
  }

  @Test func `a long URL is a start page, but no target of a redirect`() async throws {
    let long = "http://a.test/" + String(repeating: "a", count: 9000)
    let redirect = Answer("", status: 302, fields: [HTTPField("Location", long)])
    let crawl = try Crawl(["http://a.test/": redirect, long: page("")])
    let summary = try await crawl.run()
    #expect(summary.failed == 1 && summary.leftOut == 0)
    #expect(try await crawl.run(long).fetched == 1)
  }

  @Test func `redirects from https to http are not followed`() async throws {
    let crawl = try Crawl([
      "https://a.test/": .init("", status: 301, fields: [HTTPField("Location", "http://a.test/")])
    ])
    #expect(try await crawl.run("https://a.test/").failed == 1)
    #expect(crawl.transport.requests.count == 2)
  }

  @Test func `what is longer than the limit is named, and the rest is fetched`() async throws {
    for isStated in [true, false] {
      let long = String(repeating: "x", count: 4000)
      var fields = fresh()
      if isStated { fields.append(HTTPField("Content-Length", "4000")) }
      let crawl = try Crawl([
        "http://a.test/": page("<video src=v></video><a href=x></a>"),
        "http://a.test/v": Answer(long, fields: fields),
        "http://a.test/x": page("x"),
      ])
      let options = CrawlOptions(depth: 1, limitBytes: 3000)
      let summary = try await crawl.run("http://a.test/", options)
      guard case .failed(let reason) = crawl.outcomes["http://a.test/v"] else {
        Issue.record("\(String(describing: crawl.outcomes["http://a.test/v"]))")
        continue
      }
      #expect(reason.contains("the limit of this crawl"))
      #expect(summary.reachedLimit == !isStated)
      #expect(crawl.outcomes.keys.contains("http://a.test/x") == isStated)
    }
  }

  @Test func `what has no end is not read for ever`() async throws {
    let endless = Array(repeating: [UInt8](repeating: 7, count: 64 << 10), count: 2000)
    let start = "<audio src=radio></audio><img src=camera><a href=x></a>"
    let crawl = try Crawl([
      "http://a.test/": page(start, HTTPField("Content-Length", "\(start.utf8.count)")),
      "http://a.test/radio": Answer(
        endless,
        fields: [
          HTTPField("Cache-Control", "no-store"), HTTPField("Content-Length", "\(2000 << 16)"),
        ]),
      "http://a.test/camera": Answer(endless, fields: fresh()),
      "http://a.test/x": page("x", HTTPField("Content-Length", "1")),
    ])
    var options = CrawlOptions(depth: 1)
    options.longestBody = .zero
    let summary = try await crawl.run("http://a.test/", options)
    #expect(summary.bytes < 1 << 20)
    #expect(summary.failed == 2 && summary.fetched == 2)
    for (name, words) in [("radio", "no-store"), ("camera", "did not end")] {
      guard case .failed(let reason) = crawl.outcomes["http://a.test/\(name)"] else {
        Issue.record("\(name): \(String(describing: crawl.outcomes["http://a.test/\(name)"]))")
        continue
      }
      #expect(reason.contains(words))
    }
  }

  @Test(arguments: [true, false])
  func `a robots_txt that does not end is not read for ever`(hasTime: Bool) async throws {
    let crawl = try Crawl([
      "http://a.test/robots.txt": Answer(Array(repeating: [0x23], count: 1000)),
      "http://a.test/": page(""),
    ])
    var options = CrawlOptions(depth: 1)
    if hasTime { options.limitBytes = 100 } else { options.longestBody = .zero }
    let summary = try await crawl.run("http://a.test/", options)
    #expect(summary.bytes == (hasTime ? 100 : 1) && summary.reachedLimit == hasTime)
    #expect(crawl.asked == [])
    if hasTime { return }
    guard case .failed(let reason) = crawl.outcomes["http://a.test/"] else {
      return #expect(Bool(false))
    }
    #expect(reason.contains("it did not end within the limits of this crawl"))
  }

  @Test func `a page that is not searched because the crawl is cancelled has not failed`()
    async throws
  {
    let crawl = try Crawl(["http://a.test/": page("<a href=x></a>")])
    let options = CrawlOptions(depth: 0)
    #expect(try await crawl.run("http://a.test/", options).fetched == 1)
    // It comes from the store, so it is there even for a task that is cancelled.
    let fetcher = PageFetcher(
      client: CachingClient(store: crawl.store, transport: crawl.transport), options: options,
      budget: ByteBudget(limit: nil))
    let item = CrawlItem(url: try NormalizedURL("http://a.test/"))
    let task = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return await fetcher.fetch(item).outcome
    }
    guard case .leftOut = await task.value else { return #expect(Bool(false)) }
  }

  @Test func `what may not be stored is a failure, what the history keeps is not`() async throws {
    let crawl = try Crawl([
      "http://a.test/": page("<img src=1><img src=2>"),
      "http://a.test/1": Answer("x", fields: [HTTPField("Cache-Control", "no-store")]),
      "http://a.test/2": Answer("x", fields: [HTTPField("Vary", "*")]),
    ])
    let summary = try await crawl.run()
    #expect(summary.failed == 1 && summary.fetched == 2)
    guard case .failed(let reason) = crawl.outcomes["http://a.test/1"] else {
      return #expect(Bool(false))
    }
    #expect(reason.contains("no-store"))
  }

  @Test(arguments: ["javascript:x", "data:,", "http://[", "mailto:a"])
  func `a base that is no URL is no base`(base: String) async throws {
    let crawl = try Crawl(["http://a.test/": page("<base href='\(base)'><a href=x></a>")])
    _ = try await crawl.run()
    #expect(crawl.asked == ["a.test/", "a.test/x"])
  }

  @Test func `with a long base, references that are there already count, too`() async throws {
    let base = "/" + String(repeating: "q", count: 8_000) + "/"
    let repeated = String(repeating: "<a href=/x></a>", count: 3_000)
    let text = "<base href='\(base)'>\(repeated)<a href=/y></a>"
    let crawl = try Crawl(["http://a.test/": page(text)])
    _ = try await crawl.run()
    #expect(crawl.asked == ["a.test/", "a.test/x"])
    try expectCut(crawl, "http://a.test/", "16 MiB of URLs")
  }

  private func expectCut(_ crawl: Crawl, _ url: String, _ words: String) throws {
    let outcome = try #require(crawl.outcomes[url])
    guard case .failed(let reason) = outcome else {
      Issue.record("\(words): \(outcome)")
      return
    }
    #expect(reason.contains(words) && reason.hasSuffix(", so some of its links are not seen"))
  }

  @Test(arguments: [
    ("", ("<b>", 2100), "", "2000 elements"),
    ("", ("<img src=i>", 100_001), "", "100000 links"),
    ("<img src='/", ("a", 9000), "'>", "a URL of more than 8192 bytes"),
    ("<a href='", ("a", 8190), "'></a>", "a URL of more than 8192 bytes"),
  ])
  func `a page of which not all is searched is named`(
    start: String, middle: (String, count: Int), end: String, words: String
  ) async throws {
    let text = start + String(repeating: middle.0, count: middle.count) + end
    let crawl = try Crawl(["http://a.test/": page(text), "http://a.test/i": Answer("x")])
    let summary = try await crawl.run()
    #expect(summary.failed == 1 && summary.notFound == 0)
    try expectCut(crawl, "http://a.test/", words)
  }

  @Test(arguments: [
    "<img src='data:image/png,", "<a href=' JavaScript:", "<a href='#", "<a rel=nofollow href='/",
    "<a href='http://a.test/#", "<a href='?#", "<img src=' \n data:x#",
  ])
  func `what is no URL to fetch may be long`(start: String) async throws {
    let text = "\(start)\(String(repeating: "a", count: 9000))'>"
    let crawl = try Crawl(["http://a.test/": page(text)])
    #expect(try await crawl.run().fetched == 1)
  }

  @Test func `a long link that would not be followed is no failure`() async throws {
    let long = "<a href='/\(String(repeating: "a", count: 9000))'></a>"
    let crawl = try Crawl([
      "http://a.test/": page(long),
      "http://a.test/meta": page("<meta name=robots content=nofollow>" + long),
    ])
    #expect(try await crawl.run("http://a.test/", CrawlOptions(depth: 0)).fetched == 1)
    #expect(try await crawl.run("http://a.test/meta").fetched == 1)
  }

  @Test func `a long link to another host counts only if it would be followed`() async throws {
    let long = "b.test/\(String(repeating: "a", count: 9000))"
    for start in ["http://", "//", "//name@"] {
      let crawl = try Crawl(["http://a.test/": page("<a href='\(start)\(long)'></a>")])
      let options = CrawlOptions(depth: 1, staysOnHost: true)
      #expect(try await crawl.run("http://a.test/", options).fetched == 1)
      _ = try await crawl.run("http://a.test/", CrawlOptions(depth: 1))
      try expectCut(crawl, "http://a.test/", "a URL of more than 8192 bytes")
    }
    // A short link becomes a long one with the base of the page.
    let base = "<base href='http://b.test/\(String(repeating: "a", count: 8100))/'>"
    let link = "<a href='\(String(repeating: "a", count: 100))'></a>"
    let crawl = try Crawl(["http://a.test/": page(base + link)])
    let options = CrawlOptions(depth: 1, staysOnHost: true)
    #expect(try await crawl.run("http://a.test/", options).fetched == 1)
  }

  @Test func `the host of a redirected start page is one to stay on`() async throws {
    let long = "<a href='/\(String(repeating: "a", count: 9000))'></a>"
    let crawl = try Crawl([
      "http://a.test/": .init("", status: 302, fields: [HTTPField("Location", "http://b.test/")]),
      "http://b.test/": page(long),
    ])
    _ = try await crawl.run("http://a.test/", CrawlOptions(depth: 1, staysOnHost: true))
    try expectCut(crawl, "http://b.test/", "a URL of more than 8192 bytes")
  }

  @Test func `many links that would not be followed are no failure`() async throws {
    let many = String(repeating: "<a href=x></a>", count: 100_001)
    let crawl = try Crawl([
      "http://a.test/": page(many + "<img src=i>"), "http://a.test/i": Answer("x"),
      "http://a.test/meta": page("<meta name=robots content=nofollow>" + many),
    ])
    #expect(try await crawl.run("http://a.test/", CrawlOptions(depth: 0)).fetched == 2)
    #expect(crawl.asked == ["a.test/", "a.test/i"])
    #expect(try await crawl.run("http://a.test/meta").fetched == 1)
  }

  @Test(arguments: [(0, true), (1, false)])
  func `a page of 16 MiB is searched to its end`(more: Int, isWhole: Bool) async throws {
    let end = Array("<a href=y></a>".utf8)
    let filler = [UInt8](repeating: 0x20, count: 1 << 20)
    var large = page("")
    large.pieces =
      Array(repeating: filler, count: 15)
      + [filler.dropLast(end.count) + end + [UInt8](repeating: 0x20, count: more)]
    let crawl = try Crawl(["http://a.test/": large, "http://a.test/y": page("")])
    let summary = try await crawl.run()
    #expect(crawl.asked == ["a.test/", "a.test/y"])
    #expect(summary.failed == (isWhole ? 0 : 1) && summary.fetched == (isWhole ? 2 : 1))
  }

  @Test func `the beginning of a large page is searched, and all of it is kept`() async throws {
    let filler = [UInt8](repeating: 0x20, count: 1 << 20)
    var large = page("")
    large.pieces =
      [Array("<a href=x></a>".utf8)] + Array(repeating: filler, count: 17)
      + [Array("<a href=y></a>".utf8)]
    let crawl = try Crawl(["http://a.test/": large])
    _ = try await crawl.run()
    #expect(crawl.asked == ["a.test/", "a.test/x"])
    #expect(crawl.outcomes.count == 2)
    try expectCut(crawl, "http://a.test/", "16 MiB")
    #expect(crawl.store.contains("GET http://a.test/"))
  }
}
