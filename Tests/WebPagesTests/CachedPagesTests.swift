import LoopbackOrigin
import OfflineCacheKit
import Testing
import WebKit
import WebPages

@Suite(.timeLimit(.minutes(5)))
@MainActor
final class CachedPagesTests {
  private let temporary = TemporaryFolder()
  private let webView = FakeWebView()

  private func makePages(_ origin: LoopbackOrigin) throws -> CachedPages {
    let cache = try OfflineCache(
      capacity: 64 << 20, directory: temporary.url.appending(path: "store"))
    return CachedPages(cache: cache, server: origin.url())
  }

  /// A request as WebKit makes it.
  private func request(_ origin: LoopbackOrigin, _ target: String) throws -> URLRequest {
    URLRequest(url: try #require(CachedPages.url(of: origin.url(target))))
  }

  /// Starts a load, waits for its end and returns what was done.
  private func load(_ request: URLRequest, _ pages: CachedPages) async -> TaskRecord {
    let record = TaskRecord()
    pages.webView(webView, start: FakeTask(request, record))
    await record.end()
    return record
  }

  @Test func `a page is answered with its status and fields, under the URL of the web view`()
    async throws
  {
    let origin = try LoopbackOrigin { _ in
      OriginAnswer("<p>", status: 404, fields: ["Content-Type: text/html", "X-Own: 1"])
    }
    let asked = try request(origin, "/a?b=c")
    #expect(asked.url?.scheme == "cached")
    let record = await load(asked, try makePages(origin))
    #expect(record.events == [.response(404), .data("<p>"), .finished])
    #expect(record.url == asked.url)
    #expect(record.fields["Content-Type"] == "text/html" && record.fields["X-Own"] == "1")
    #expect(record.fields["Cache-Status"]?.hasPrefix("OfflineCache; fwd=") == true)
    #expect(origin.requests.map(\.target) == ["/a?b=c"])
  }

  @Test func `a long page comes in pieces, an empty one without data`() async throws {
    let text = String(repeating: "0123456789", count: 30_000)
    let origin = try LoopbackOrigin { OriginAnswer($0.target == "/long" ? text : "") }
    let pages = try makePages(origin)
    let long = await load(try request(origin, "/long"), pages)
    #expect(long.events == [.response(200), .data(text), .finished])
    let empty = await load(try request(origin, "/empty"), pages)
    #expect(empty.events == [.response(200), .finished])
  }

  @Test(arguments: [
    URLRequest.CachePolicy.useProtocolCachePolicy, .reloadIgnoringLocalCacheData,
    .reloadRevalidatingCacheData,
  ])
  func `without the server the stored page is the answer, also to a reload`(
    policy: URLRequest.CachePolicy
  ) async throws {
    let origin = try LoopbackOrigin { _ in OriginAnswer("page") }
    let pages = try makePages(origin)
    var asked = try request(origin, "/a")
    _ = await load(asked, pages)
    origin.stop()
    asked.cachePolicy = policy
    #expect(await load(asked, pages).events == [.response(200), .data("page"), .finished])
    let absent = await load(try request(origin, "/b"), pages)
    #expect(absent.events == [.failed(.cannotConnectToHost)])
  }

  @Test func `a range is answered with the part`() async throws {
    let origin = try LoopbackOrigin { _ in
      OriginAnswer("0123456789", fields: ["Cache-Control: max-age=1000", "ETag: \"1\""])
    }
    let pages = try makePages(origin)
    var asked = try request(origin, "/film")
    _ = await load(asked, pages)
    asked.setValue("bytes=2-4", forHTTPHeaderField: "Range")
    let part = await load(asked, pages)
    #expect(part.events == [.response(206), .data("234"), .finished])
    #expect(part.fields["Content-Range"] == "bytes 2-4/10")
    #expect(origin.requests.count == 1)
  }

  @Test func `fields that name the scheme of the web view are not sent`() async throws {
    let origin = try LoopbackOrigin { _ in OriginAnswer("") }
    var asked = try request(origin, "/a")
    for name in ["Origin", "Referer", "X-Own"] {
      asked.setValue("cached://here", forHTTPHeaderField: name)
    }
    _ = await load(asked, try makePages(origin))
    let sent = try #require(origin.requests.first)
    #expect(sent.value(of: "Origin") == nil && sent.value(of: "Referer") == nil)
    #expect(sent.value(of: "X-Own") == "cached://here")
  }

  @Test func `other servers and methods are refused`() async throws {
    let origin = try LoopbackOrigin { _ in OriginAnswer("") }
    let pages = try makePages(origin)
    let other = URLRequest(url: try #require(URL(string: "cached://example.org/a")))
    #expect(await load(other, pages).events == [.failed(.unsupportedURL)])
    var post = try request(origin, "/a")
    post.httpMethod = "POST"
    #expect(await load(post, pages).events == [.failed(.unsupportedURL)])
    #expect(origin.requests.isEmpty)
  }

  @Test func `a redirect gives a page its new address, and other things their content`()
    async throws
  {
    let origin = try LoopbackOrigin { request in
      request.target == "/old" ? .redirect("/new") : OriginAnswer("new")
    }
    let pages = try makePages(origin)
    var asked = try request(origin, "/old")
    #expect(await load(asked, pages).events == [.response(200), .data("new"), .finished])
    #expect(webView.loaded.isEmpty)
    asked.mainDocumentURL = asked.url
    #expect(await load(asked, pages).events == [])
    #expect(webView.loaded == [CachedPages.url(of: origin.url("/new"))])
  }

  @Test func `a redirect to another server is refused`() async throws {
    let other = try LoopbackOrigin { _ in OriginAnswer("other") }
    let origin = try LoopbackOrigin { _ in .redirect(other.url("/").absoluteString) }
    let record = await load(try request(origin, "/a"), try makePages(origin))
    #expect(record.events == [.failed(.noPermissionsToReadFile)])
  }

  @Test(arguments: [0, 100_000])
  func `after stop no method of the task is called`(received: Int) async throws {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    let text = String(repeating: "x", count: received)
    let origin = try LoopbackOrigin { _, connection in
      if received > 0 {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(2 * received)\r\n\r\n\(text)")
      }
      arrival.yield()
      connection.waitForClose()
    }
    let pages = try makePages(origin)
    let record = TaskRecord()
    do {
      let task = FakeTask(try request(origin, "/a"), record)
      pages.webView(webView, start: task)
      for await _ in arrivals { break }
      if received > 0 {
        for await _ in record.calls.stream where record.events.count == 2 { break }
      }
      let before = record.events
      pages.webView(webView, stop: task)
      #expect(before == (received > 0 ? [.response(200), .data(String(text.prefix(65_536)))] : []))
    }
    let before = record.events
    await record.end()
    #expect(record.events == before)
    origin.stop()
  }

  @Test func `a page that breaks off is an error, and a later stop does nothing`() async throws {
    let origin = try LoopbackOrigin { _ in OriginAnswer("begin", claimedLength: 100) }
    let pages = try makePages(origin)
    let record = TaskRecord()
    let task = FakeTask(try request(origin, "/a"), record)
    pages.webView(webView, start: task)
    for await _ in record.calls.stream {
      if case .failed? = record.events.last { break }
    }
    #expect(record.events.last == .failed(.networkConnectionLost))
    let before = record.events
    pages.webView(webView, stop: task)
    #expect(record.events == before)
  }
}
