import CurlHTTP
import Dispatch
import LoopbackOrigin
import Synchronization
import Testing

@testable import CacheClient
@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5))) struct OfflineCachePrefetchTests {
  @Test func `what was prefetched answers without the network, each with its result`() async throws
  {
    let sandbox = try FaceSandbox { request in
      switch request.target {
      case "/secret": OriginAnswer("s", fields: ["Cache-Control: no-store"])
      case "/missing": OriginAnswer("m", status: 404, fields: ["Cache-Control: no-store"])
      default: fresh(String(repeating: request.target, count: 50_000))
      }
    }
    #expect(await text(sandbox.cache, sandbox.request("/known")).count == 300_000)
    let targets = ["/a", "/known", "/secret", "/missing", "/b"]
    let requests =
      targets.map { sandbox.request($0) } + [URLRequest(url: try #require(URL(string: "ftp://h/")))]
    let results = await sandbox.cache.prefetch(requests)
    #expect(
      results.map(summary) == [
        "stored 200 network", "stored 200 disk", "not stored 200: the response says no-store",
        "not stored 404: the response says no-store", "stored 200 network",
        "failed \(URLError.Code.unsupportedURL.rawValue)",
      ])
    #expect(results[0].response?.url == requests[0].url)
    #expect(results[5].response == nil)
    sandbox.cache.offlineMode = .always
    for target in ["/a", "/known", "/b"] {
      #expect(await text(sandbox.cache, sandbox.request(target)).hasPrefix(target))
    }
    #expect(sandbox.origin.requests.count == 5)
    #expect(await sandbox.cache.prefetch([]).isEmpty)
  }

  @Test(arguments: ["Vary: *", "Cache-Control: no-store"])
  func `what only the history keeps is there offline, and reported as such`(
    field: String
  ) async throws {
    var options = OfflineCacheOptions()
    options.keepsNoStore = true
    let sandbox = try FaceSandbox(options) { _ in
      OriginAnswer(String(repeating: "page", count: 50_000), fields: [field])
    }
    let results = await sandbox.cache.prefetch([sandbox.request()])
    #expect(results.map(summary) == ["stored 200 network"])
    sandbox.cache.offlineMode = .always
    #expect(await text(sandbox.cache, sandbox.request()).count == 200_000)
  }

  @Test(arguments: [20, 90_000])
  func `what is reported as stored is there, although the store has no room for all`(
    bytes: Int
  ) async throws {
    let sandbox = try FaceSandbox(capacity: 2 << 20) { request in
      fresh(request.target + String(repeating: "x", count: bytes))
    }
    if bytes == 20 { try sandbox.cache.store.setLimits(Limits(entries: 20)) }
    let requests = (0..<40).map { sandbox.request("/\($0)") }
    let results = await sandbox.cache.prefetch(requests, maximumTransfers: 1)
    // What is evicted in the background meanwhile comes first.
    let isThere = requests.map { sandbox.cache.cachedResponse(for: $0) != nil }
    let isStored = results.map { if case .stored = $0 { true } else { false } }
    #expect(zip(isStored, isThere).allSatisfy { $0 || !$1 })
    #expect(!isStored[0] && isStored[39] && isThere[39])
    #expect(summary(results[0]).hasPrefix("not stored 200: it was evicted or removed since"))
  }

  @Test func `a page behind a redirect that may not be stored is not there offline`() async throws {
    let sandbox = try FaceSandbox { request in
      request.target == "/a"
        ? OriginAnswer("", status: 302, fields: ["Location: /b", "Cache-Control: no-store"])
        : fresh("b")
    }
    let results = await sandbox.cache.prefetch([sandbox.request("/a"), sandbox.request("/b")])
    #expect(results.map(summary).map { $0.prefix(10) } == ["not stored", "stored 200"])
  }

  @Test(arguments: [1, 3, 0])
  func `no more requests than allowed run at once`(limit: Int) async throws {
    let running = Mutex((now: 0, most: 0))
    let sandbox = try FaceSandbox { request in
      running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      defer { running.withLock { $0.now -= 1 } }
      return fresh(request.target)
    }
    let requests = (0..<30).map { sandbox.request("/\($0)") }
    let results = await sandbox.cache.prefetch(requests, maximumTransfers: limit)
    #expect(results.map { $0.response?.url } == requests.map(\.url))
    #expect(running.withLock { $0.most } <= max(1, limit))
    #expect(sandbox.cache.store.statistics.entries == 30)
  }

  @Test func `a cancelled prefetch keeps what it has, and the rest is cancelled`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let mayAnswer = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { request in
      if request.target == "/2" {
        arrived.continuation.yield()
        mayAnswer.wait()
      }
      return fresh(request.target)
    }
    defer { mayAnswer.signal() }
    let requests = (0..<100).map { sandbox.request("/\($0)") }
    let task = Task { await sandbox.cache.prefetch(requests, maximumTransfers: 1) }
    for await _ in arrived.stream { break }
    task.cancel()
    let results = await task.value
    #expect(results.count == 100)
    #expect(results.prefix(2).map(summary) == ["stored 200 network", "stored 200 network"])
    let cancelled = "failed \(URLError.Code.cancelled.rawValue)"
    #expect(results.dropFirst(2).allSatisfy { summary($0) == cancelled })
    #expect(sandbox.origin.requests.count == 3)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request("/1")) != nil)
  }

  /// Notes the priorities with which requests are sent.
  private final class Recorder: HTTPTransport {
    let priorities = Mutex<[String: Int]>([:])
    private let transport: CurlTransport

    init() throws { transport = try CurlTransport(NetworkSetup(proxy: .none)) }

    func send(
      _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
      onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
    ) async throws(TransportError) -> TransportResponse {
      priorities.withLock { $0[request.url.target] = options.priority }
      return try await transport.send(request, body: body, options: options, onInterim: onInterim)
    }
  }

  @Test func `a prefetch has a lower priority than other requests, or the stated one`() async throws
  {
    let recorder = try Recorder()
    let sandbox = try FaceSandbox(transport: recorder) { fresh($0.target) }
    let cache = sandbox.cache
    _ = try await cache.data(for: sandbox.request("/usual"))
    _ = try await cache.data(for: sandbox.request("/urgent"), priority: 7)
    _ = try await cache.data(from: sandbox.origin.url("/both"), expiresAfter: 1, priority: 2)
    _ = await cache.prefetch([sandbox.request("/later")])
    _ = await cache.prefetch([sandbox.request("/now")], priority: 3)
    let expected = ["/usual": 0, "/urgent": 7, "/both": 2, "/later": -1, "/now": 3]
    #expect(recorder.priorities.withLock { $0 } == expected)
  }

  @Test func `a request joins a prefetch of the same thing`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let mayAnswer = DispatchSemaphore(value: 0)
    let sandbox = try FaceSandbox { request in
      arrived.continuation.yield()
      mayAnswer.wait()
      return fresh(request.target)
    }
    let (cache, request) = (sandbox.cache, sandbox.request("/a"))
    async let prefetched = cache.prefetch([request])
    for await _ in arrived.stream { break }
    async let asked = cache.data(for: request, priority: 5)
    await eventually {
      cache.client.flights.flights.withLock { flights in
        flights.values.joined().contains { $0.value.state.withLock { $0.askers } == 2 }
      }
    }
    mayAnswer.signal()
    #expect(try await asked.0 == Data("/a".utf8))
    #expect(await prefetched.map(summary) == ["stored 200 network"])
    #expect(sandbox.origin.requests.count == 1)
  }

  private func summary(_ result: PrefetchResult) -> String {
    switch result {
    case .stored(let response):
      "stored \(response.statusCode) \(response.metadata.map { $0.source.rawValue } ?? "")"
    case .notStored(let response, let reason): "not stored \(response.statusCode): \(reason)"
    case .failed(let error): "failed \(error.code.rawValue)"
    }
  }
}
