import CacheClient
import CacheStore
import ClientTesting
import HTTPSemantics
import HTTPTransports
import SiteCrawling
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct CrawlerTests {
  typealias Answer = ScriptedTransport.Answer

  private final class Waits: Sendable {
    let all = Mutex<[Duration]>([])
  }

  /// A crawl of a site in memory, and what was reported.
  private final class Crawl {
    let folder = TemporaryFolder()
    let transport: ScriptedTransport
    let store: Store
    var outcomes: [String: CrawlOutcome] = [:]
    var sources: [String: String] = [:]
    /// The waits before requests were sent again.
    let waits = Waits()

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
      options.wait = { [waits] wait in waits.all.withLock { $0.append(wait) } }
      let client = CachingClient(store: store, transport: transport, options: clientOptions)
      return await Crawler(client: client, options: options).run([try NormalizedURL(start)]) {
        item, outcome, _, _ in
        outcomes[item.url.string] = outcome
        sources[item.url.string] = (item.redirects.last ?? item.referrer)?.string
      }
    }

    /// The requests but those for robots.txt, without `http://`.
    var asked: [String] {
      transport.requests.map { String($0.url.string.dropFirst(7)) }
        .filter { !$0.hasSuffix("/robots.txt") }
    }
  }

  private func page(_ html: String, _ fields: HTTPField...) -> Answer {
    Answer(
      html,
      fields: HTTPFields(
        [HTTPField("Content-Type", "text/html"), HTTPField("Cache-Control", "max-age=1000")]
          + fields))
  }

  private func style(_ css: String) -> Answer {
    Answer(css, fields: [HTTPField("Content-Type", "text/css; charset=utf-8")])
  }

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

  @Test(arguments: [(404, true), (403, true), (429, true), (500, false), (503, false)])
  func `without a robots_txt everything is allowed, unless the server fails`(
    status: Int, isAllowed: Bool
  ) async throws {
    let crawl = try Crawl([
      "http://a.test/robots.txt": Answer("x", status: status), "http://a.test/": page(""),
    ])
    let summary = try await crawl.run()
    #expect(summary.fetched == (isAllowed ? 1 : 0) && summary.failed == (isAllowed ? 0 : 1))
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
    #expect(crawl.waits.all.withLock { $0 } == [.seconds(7), .seconds(2)])
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
    #expect(crawl.waits.all.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4)])
    #expect(crawl.asked.count { $0 == "a.test/b" } == 1 + CrawlOptions.maximumRetries)
    #expect(crawl.asked.count { $0 == "a.test/c" } == 1)
    guard case .failed(let reason) = crawl.outcomes["http://a.test/c"] else {
      return #expect(Bool(false))
    }
    #expect(reason.contains("it answered \(status) (Retry-After: 61)"))
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
    #expect(summary.fullStore?.code == .leastRecent)
    #expect(summary.fullStore?.cause.contains("the store has") == true)
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

  @Test func `an endless space of links ends with the depth, and with the memory`() async throws {
    let crawl = try Crawl([:])
    let html = { @Sendable (number: Int) in
      (0..<10).map { "<a href=/\(number * 10 + $0 + 1)></a>" }.joined()
    }
    crawl.transport.set { [self] request in
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
    crawl.transport.set { [self] request in
      let number = Int(request.url.target.dropFirst()) ?? 0
      return .success(page("<iframe src=/\(number + 1)></iframe>"))
    }
    let summary = try await crawl.run("http://a.test/0", CrawlOptions(depth: 0))
    #expect(summary.fetched == 1 + CrawlOptions.maximumNesting)
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
