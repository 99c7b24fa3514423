import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

/// Responses with the storage policy `allowedInMemoryOnly`.
@Suite(.timeLimit(.minutes(5))) struct MemoryOnlyTests {
  private func keep(
    _ body: String, in sandbox: FaceSandbox, target: String = "/mine", seconds: Int = 100,
    fields: [String: String] = [:], policy: URLCache.StoragePolicy = .allowedInMemoryOnly
  ) throws {
    let fields = fields.merging(["Cache-Control": "max-age=\(seconds)"]) { $1 }
    let response = try #require(
      HTTPURLResponse(
        url: sandbox.origin.url(target), statusCode: 200, httpVersion: nil, headerFields: fields))
    try sandbox.cache.store(
      CachedURLResponse(
        response: response, data: Data(body.utf8), userInfo: ["a": "b"], storagePolicy: policy),
      for: sandbox.request(target))
  }

  @Test func `it answers while it is fresh, and nothing of it is on disk`() async throws {
    let sandbox = try FaceSandbox { _ in fresh("network") }
    try keep("secret", in: sandbox)
    let (data, response) = try await sandbox.cache.data(for: sandbox.request("/mine"))
    #expect(data == Data("secret".utf8))
    #expect(response.metadata?.source == .memory)
    let cached = try #require(sandbox.cache.cachedResponse(for: sandbox.request("/mine")))
    #expect(cached.storagePolicy == .allowedInMemoryOnly)
    #expect(cached.userInfo?["a"] as? String == "b")
    #expect(sandbox.cache.expirationDate(for: sandbox.request("/mine")) != nil)
    #expect(sandbox.cache.store.statistics.entries == 0)
    let other = try OfflineCache(
      capacity: 64 << 20, directory: sandbox.folder.appendingPathComponent("store"))
    #expect(other.cachedResponse(for: sandbox.request("/mine")) == nil)
    sandbox.clock.advance(bySeconds: 101)
    #expect(await text(sandbox.cache, sandbox.request("/mine")) == "network")
    // The newer one is stored, and answers from now on.
    #expect(await text(sandbox.cache, sandbox.request("/mine")) == "network")
    #expect(sandbox.cache.cachedResponse(for: sandbox.request("/mine"))?.storagePolicy == .allowed)
    #expect(sandbox.origin.requests.count == 1)
  }

  @Test func `what only the history would keep is not written to disk either`() throws {
    let sandbox = try FaceSandbox()
    let fields = ["Vary": "*"]
    #expect(throws: StoringError.self) { try keep("secret", in: sandbox, fields: fields) }
    #expect(sandbox.cache.store.statistics.entries == 0)
    #expect(throws: StoringError.self) {
      try keep("public", in: sandbox, fields: fields, policy: .allowed)
    }
    #expect(sandbox.cache.store.statistics.entries == 1)
  }

  @Test func `a server confirms it, and it stays in memory`() async throws {
    let sandbox = try FaceSandbox { request in
      request.value(of: "If-None-Match") == "\"1\""
        ? OriginAnswer("", status: 304, fields: ["Cache-Control: max-age=50", "ETag: \"1\""])
        : fresh("network")
    }
    try keep("mine", in: sandbox, seconds: 0, fields: ["ETag": "\"1\""])
    sandbox.clock.advance(bySeconds: 5)
    for _ in 1...3 {
      #expect(await text(sandbox.cache, sandbox.request("/mine")) == "mine")
    }
    #expect(sandbox.origin.requests.count == 1)
    #expect(sandbox.cache.store.statistics.entries == 0)
  }

  @Test func `it answers offline, stale as it is`() async throws {
    let sandbox = try FaceSandbox()
    try keep("mine", in: sandbox, seconds: 1)
    sandbox.clock.advance(bySeconds: 1000)
    sandbox.cache.offlineMode = .always
    #expect(await text(sandbox.cache, sandbox.request("/mine")) == "mine")
  }

  @Test func `it replaces a stored one, and a stored one replaces it`() throws {
    let sandbox = try FaceSandbox()
    let request = sandbox.request("/mine")
    for (body, policy) in [
      ("1", URLCache.StoragePolicy.allowed), ("2", .allowedInMemoryOnly), ("3", .allowed),
      ("4", .allowedInMemoryOnly), ("5", .allowedInMemoryOnly),
    ] {
      try keep(body, in: sandbox, policy: policy)
      let cached = try #require(sandbox.cache.cachedResponse(for: request))
      #expect(cached.data == Data(body.utf8))
      #expect(cached.storagePolicy == policy)
      #expect(sandbox.cache.store.statistics.entries == (policy == .allowed ? 1 : 0))
    }
  }

  @Test func `it is removed like a stored one`() async throws {
    let sandbox = try FaceSandbox { _ in OriginAnswer("done", fields: ["Cache-Control: no-store"]) }
    let request = sandbox.request("/mine")
    let face = OfflineURLCache(sandbox.cache)
    var post = request
    post.httpMethod = "POST"
    let removals: [() async throws -> Void] = [
      { _ = try sandbox.cache.remove(for: request) },
      { try sandbox.cache.removeAll() },
      { _ = try await sandbox.cache.upload(for: post, from: Data("x".utf8)) },
      { face.removeCachedResponses(since: Date(timeIntervalSince1970: 0)) },
    ]
    for remove in removals {
      try keep("mine", in: sandbox)
      #expect(sandbox.cache.cachedResponse(for: request) != nil)
      try await remove()
      #expect(sandbox.cache.cachedResponse(for: request) == nil)
    }
    #expect(try sandbox.cache.remove(for: request) == false)
  }

  @Test func `memory that is emptied keeps nothing, and what is stored still answers`() async throws
  {
    let sandbox = try FaceSandbox { _ in fresh("stored") }
    let cache = sandbox.cache
    for _ in 0..<2 { _ = try await cache.data(for: sandbox.request()) }
    let hot = cache.client.memoryBytes
    #expect(hot > 0)
    try keep("mine", in: sandbox)
    #expect(cache.client.memoryBytes > hot)
    cache.emptyMemory()
    #expect(cache.client.memoryBytes == 0)
    #expect(cache.cachedResponse(for: sandbox.request("/mine")) == nil)
    #expect(await text(cache, sandbox.request()) == "stored")
    #expect(sandbox.origin.requests.count == 1)
  }

  @Test func `the memory is bounded: the oldest go, and what exceeds it alone is an error`() throws
  {
    var options = OfflineCacheOptions()
    options.memoryOnlyCapacity = 100_000
    let sandbox = try FaceSandbox(options)
    let body = String(repeating: "x", count: 20_000)
    for number in 0..<50 { try keep(body, in: sandbox, target: "/\(number)") }
    let kept = (0..<50).filter {
      sandbox.cache.cachedResponse(for: sandbox.request("/\($0)")) != nil
    }
    #expect(kept == [46, 47, 48, 49])
    let error = #expect(throws: StoringError.self) {
      try keep(String(repeating: "x", count: 100_000), in: sandbox)
    }
    guard case .store(let cause) = error else { return #expect(Bool(false), "\(error as Any)") }
    #expect(cause.code == .entryTooLarge)
    options.memoryOnlyCapacity = 0
    let none = try FaceSandbox(options)
    #expect(throws: StoringError.self) { try keep("", in: none) }
  }
}
