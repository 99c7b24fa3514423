import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(2)))
struct OfflineCacheFetchTests {
  /// A body of this length is not read into memory before it is verified.
  @Test func `a long body that is damaged on the disk is fetched again`() async throws {
    let body = String(repeating: "0123456789abcdef", count: 17 << 16)
    let sandbox = try FaceSandbox { _ in fresh(body) }
    #expect(await text(sandbox.cache, sandbox.request()) == body)
    try sandbox.damageBody(of: body.utf8.count, at: 1_000_000)
    #expect(await text(sandbox.cache, sandbox.request()) == body)
    #expect(sandbox.origin.requests.count == 2)
    sandbox.cache.offlineMode = .always
    #expect(await text(sandbox.cache, sandbox.request()) == body)
  }

  @Test func `the first answer comes from the network, the second one from the store, and says so`()
    async throws
  {
    let sandbox = try FaceSandbox { _ in
      fresh("hello", ["X-A: 1", "X-A: 2", "Content-Type: text/plain"])
    }
    let url = sandbox.origin.url("/a?b#c")
    let (data, first) = try await sandbox.cache.data(from: url)
    #expect(data == Data("hello".utf8))
    #expect(first.statusCode == 200)
    #expect(first.url == url)
    #expect(first.value(forHTTPHeaderField: "x-a") == "1, 2")
    #expect(first.mimeType == "text/plain")
    #expect(first.metadata?.source == .network)
    #expect(first.metadata?.reason == "nothing is stored for it")
    #expect(first.metadata?.cacheStatus == "OfflineCache; fwd=uri-miss; stored")
    #expect(first.metadata?.freshness == nil)

    sandbox.clock.advance(bySeconds: 20)
    let (again, second) = try await sandbox.cache.data(from: url)
    #expect(again == data)
    #expect(second.metadata?.source == .disk)
    #expect(second.metadata?.age == 20)
    #expect(second.metadata?.freshness == 980)
    #expect(second.metadata?.isStale == false)
    #expect(second.metadata?.reason == "it is stored, and fresh for 980 s")
    #expect(second.value(forHTTPHeaderField: "Age") == "20")
    let (_, third) = try await sandbox.cache.data(from: url)
    #expect(third.metadata?.source == .memory)
    #expect(sandbox.origin.requests.count == 1)
  }

  @Test func `the reason says what the server has answered if a stored response is used`()
    async throws
  {
    let status = Mutex(200)
    let sandbox = try FaceSandbox { _ in
      OriginAnswer(
        "hello", status: status.withLock { $0 },
        fields: ["Cache-Control: max-age=10, stale-if-error=1000", "ETag: \"1\""])
    }
    _ = try await sandbox.cache.data(for: sandbox.request())
    let cases = [(503, "the server has answered 503"), (304, "the server has confirmed it")]
    for (answer, words) in cases {
      sandbox.clock.advance(bySeconds: 20)
      status.withLock { $0 = answer }
      let (data, response) = try await sandbox.cache.data(for: sandbox.request())
      #expect(data == Data("hello".utf8))
      #expect(response.metadata?.reason.hasSuffix("; \(words)") == true)
    }
  }

  @Test func `what the store could not take is not called stored`() async throws {
    // Only at its end it is known how long it is.
    let sandbox = try FaceSandbox(capacity: 300_000, transport: UnknownLength(bytes: 500_000))
    let (data, response) = try await sandbox.cache.data(for: sandbox.request())
    #expect(data.count == 500_000)
    let status = try #require(response.metadata?.cacheStatus)
    #expect(status.hasPrefix("OfflineCache; fwd=uri-miss; detail="), "\(status)")
    #expect(sandbox.cache.cachedResponse(for: sandbox.request()) == nil)
  }

  @Test(arguments: [
    (URLRequest.CachePolicy.useProtocolCachePolicy, "1", "1", "2"),
    (.reloadIgnoringLocalCacheData, "2", "3", "4"),
    (.reloadIgnoringLocalAndRemoteCacheData, "2", "3", "4"),
    (.returnCacheDataElseLoad, "1", "1", "1"),
    (.returnCacheDataDontLoad, "1", "1", "1"),
    (.reloadRevalidatingCacheData, "2", "3", "4"),
  ])
  func `each policy asks the network when it should`(
    policy: URLRequest.CachePolicy, first: String, second: String, stale: String
  ) async throws {
    let counter = Mutex(0)
    let sandbox = try FaceSandbox { _ in
      fresh("\(counter.withLock { $0 += 1; return $0 })", seconds: 100, ["ETag: \"x\(UUID())\""])
    }
    #expect(await text(sandbox.cache, sandbox.request()) == "1")
    #expect(await text(sandbox.cache, sandbox.request("/a", policy)) == first)
    #expect(await text(sandbox.cache, sandbox.request("/a", policy)) == second)
    sandbox.clock.advance(bySeconds: 200)
    #expect(await text(sandbox.cache, sandbox.request("/a", policy)) == stale)
  }

  @Test func `a policy without network has an error where nothing is stored`() async throws {
    let sandbox = try FaceSandbox()
    let request = sandbox.request("/a", .returnCacheDataDontLoad)
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(for: request) }
    #expect(error?.code == .resourceUnavailable)
    #expect(error?.failingURL == request.url)
    #expect((error?.cause as? ClientError)?.cause == .notStored(.absent))
    #expect(sandbox.origin.requests.isEmpty)
  }

  @Test func `all the way to the origin is said in the request`() async throws {
    let sandbox = try FaceSandbox()
    _ = await text(sandbox.cache, sandbox.request("/a", .reloadIgnoringLocalAndRemoteCacheData))
    #expect(sandbox.origin.requests.first?.value(of: "Cache-Control") == "no-cache")
    _ = await text(sandbox.cache, sandbox.request("/a", .reloadIgnoringLocalCacheData))
    #expect(sandbox.origin.requests.last?.value(of: "Cache-Control") == nil)
  }

  @Test
  func `method, fields and body of a request arrive, and an unsafe one removes what is stored`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      request.method == "GET" ? fresh("old") : OriginAnswer(request.body)
    }
    #expect(await text(sandbox.cache, sandbox.request()) == "old")
    var request = sandbox.request()
    request.httpMethod = "PUT"
    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data("new".utf8)
    #expect(await text(sandbox.cache, request) == "new")
    #expect(sandbox.origin.requests.last?.method == "PUT")
    #expect(sandbox.origin.requests.last?.value(of: "Content-Type") == "text/plain")
    #expect(sandbox.cache.cachedResponse(for: sandbox.request()) == nil)

    let (sent, _) = try await sandbox.cache.upload(
      for: sandbox.request("/up"), from: Data("sent".utf8))
    #expect(sent == Data("sent".utf8))
    #expect(sandbox.origin.requests.last?.method == "POST")

    request.httpBody = nil
    request.httpBodyStream = InputStream(data: Data(repeating: 7, count: 200_000))
    let (streamed, _) = try await sandbox.cache.data(for: request)
    #expect(streamed == Data(repeating: 7, count: 200_000))
  }

  @Test func `a stream is sent once, with the length that the caller states`() async throws {
    let sandbox = try FaceSandbox { fresh($0.value(of: "Content-Length") ?? "none") }
    var request = sandbox.request()
    request.httpMethod = "PUT"
    request.setValue("200000", forHTTPHeaderField: "Content-Length")
    request.httpBodyStream = InputStream(data: Data(repeating: 7, count: 200_000))
    #expect(await text(sandbox.cache, request) == "200000")
    let exhausted = "\(URLError.requestBodyStreamExhausted.rawValue)"
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(for: request) }
    #expect(error?.code == .requestBodyStreamExhausted)
    #expect(error?.localizedDescription.contains("each request needs a new one") == true)

    // A part of it was read.
    let stream = InputStream(data: Data(repeating: 7, count: 200_000))
    do {
      let first = StreamSource(stream)
      #expect(try await first.next()?.isEmpty == false)
    }
    request.httpBodyStream = stream
    #expect(await text(sandbox.cache, request) == exhausted)
    #expect(sandbox.origin.requests.count(where: { $0.body.count > 0 }) == 1)
  }

  @Test func `a cancelled task gets nothing that is stored, and replaces no file`() async throws {
    let sandbox = try FaceSandbox { _ in fresh(String(repeating: "x", count: 100_000)) }
    _ = try await sandbox.cache.data(for: sandbox.request())
    let file = sandbox.folder.appendingPathComponent("file")
    try Data("old".utf8).write(to: file)
    let cache = sandbox.cache
    let request = sandbox.request()
    let download = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await cache.download(for: request, to: file).statusCode
    }
    #expect((await download.result.failure as? URLError)?.code == .cancelled)
    #expect(try Data(contentsOf: file) == Data("old".utf8))
    let read = Task {
      let (bytes, _) = try await cache.bytes(for: request)
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      var count = 0
      for try await _ in bytes { count += 1 }
      return count
    }
    #expect((await read.result.failure as? URLError)?.code == .cancelled)
    let task = Task {
      let (bytes, _) = try await cache.bytes(for: request)
      var count = 0
      for try await _ in bytes { count += 1 }
      return count
    }
    #expect(try await task.value == 100_000)
  }

  @Test func `an answer in gzip is decoded, stored as it came, and decoded again`() async throws {
    // printf hello | gzip -n
    let coded: [UInt8] = [
      0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10,
      0x36, 5, 0, 0, 0,
    ]
    let sandbox = try FaceSandbox { request in
      var answer = OriginAnswer(coded)
      answer.fields = [
        "Cache-Control: max-age=60", "Content-Encoding: gzip", "Vary: Accept-Encoding",
      ]
      return answer
    }
    for source in [ResponseMetadata.Source.network, .disk] {
      let (data, response) = try await sandbox.cache.data(for: sandbox.request())
      #expect(data == Data("hello".utf8))
      #expect(response.value(forHTTPHeaderField: "Content-Encoding") == nil)
      #expect(response.metadata?.source == source)
    }
    #expect(sandbox.cache.cachedResponse(for: sandbox.request())?.data == Data("hello".utf8))
    // As with URLSession, also if the caller names codings.
    var naming = sandbox.request()
    naming.setValue("gzip, br;q=0.5", forHTTPHeaderField: "accept-encoding")
    #expect(try await sandbox.cache.data(for: naming).0 == Data("hello".utf8))
    #expect(sandbox.cache.cachedResponse(for: naming)?.data == Data("hello".utf8))
    naming.setValue("identity;q=1, *;q=0", forHTTPHeaderField: "Accept-Encoding")
    _ = try await sandbox.cache.data(for: naming)
    #expect(
      sandbox.origin.requests.map { $0.value(of: "Accept-Encoding") }
        == ["gzip, deflate", "identity;q=1, *;q=0"])
  }

  @Test func `a server that says nothing runs into the request's own timeout`() async throws {
    let sandbox = try FaceSandbox { _ in .silence }
    var request = sandbox.request()
    request.timeoutInterval = 0.25
    let error = await #expect(throws: URLError.self) { try await sandbox.cache.data(for: request) }
    #expect(error?.code == .timedOut)
  }

  @Test func `a task that is cancelled ends with the error that URLSession has`() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let sandbox = try FaceSandbox { _ in
      arrived.continuation.yield()
      return .silence
    }
    let task = Task { await text(sandbox.cache, sandbox.request()) }
    for await _ in arrived.stream { break }
    task.cancel()
    #expect(await task.value == "\(URLError.cancelled.rawValue)")

    let early = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return await text(sandbox.cache, sandbox.request())
    }
    #expect(await early.value == "\(URLError.cancelled.rawValue)")
    #expect(sandbox.origin.requests.count == 1)
  }

  @Test func `too long a body is an error that names the limit`() async throws {
    let sandbox = try FaceSandbox(OfflineCacheOptions(maximumDataBytes: 1000)) { _ in
      fresh(String(repeating: "x", count: 100_000))
    }
    let error = await #expect(throws: URLError.self) {
      try await sandbox.cache.data(for: sandbox.request())
    }
    #expect(error?.code == .dataLengthExceedsMaximum)
  }
}

/// Answers with a body whose length is not told.
private struct UnknownLength: HTTPTransport {
  let bytes: Int

  func send(
    _ request: HTTPRequest, body: RequestBody?, options: TransportOptions,
    onInterim: @escaping @Sendable (HTTPResponseHead) -> Void
  ) async throws(TransportError) -> TransportResponse {
    TransportResponse(
      head: HTTPResponseHead(status: 200, fields: [HTTPField("Cache-Control", "max-age=60")]),
      url: request.url, version: "1.1", body: Body(bytes))
  }

  private final class Body: TransportBody {
    private let left: Mutex<Int>

    init(_ bytes: Int) { left = Mutex(bytes) }

    var trailers: HTTPFields { [] }

    func next() async throws(TransportError) -> [UInt8]? {
      let count = left.withLock { left -> Int in
        defer { left -= min(left, 10_000) }
        return min(left, 10_000)
      }
      return count == 0 ? nil : Array(repeating: 7, count: count)
    }

    func cancel() {}
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
