import LoopbackOrigin
import TestSupport
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct OfflineCacheTests {
  @Test func `capacity and size are told, kept and changed`() async throws {
    let body = String(repeating: "x", count: 10_000)
    let sandbox = try FaceSandbox(capacity: 10 << 20) { fresh($0.target + body) }
    #expect(sandbox.cache.capacity == 10 << 20)
    #expect(sandbox.cache.size.logical == 0)
    for number in 0..<20 { _ = await text(sandbox.cache, sandbox.request("/\(number)")) }
    #expect(sandbox.cache.size.logical == 20 * 10_000 + 10 * 2 + 10 * 3)
    #expect(sandbox.cache.size.physical > sandbox.cache.size.logical)
    try sandbox.cache.setCapacity(1 << 20)
    #expect(sandbox.cache.capacity == 1 << 20)
    #expect(throws: StoreError.self) { try sandbox.cache.setCapacity(0) }
    let again = try OfflineCache(
      capacity: 2 << 20, directory: sandbox.folder.appendingPathComponent("store"))
    #expect(again.capacity == 2 << 20)
    #expect(again.cachedResponse(for: sandbox.request("/7")) != nil)
    try sandbox.cache.removeAll()
    #expect(sandbox.cache.size.logical == 0)
  }

  @Test func `a closed cache has written the access times, and stores nothing more`() async throws {
    let sandbox = try FaceSandbox { fresh($0.target) }
    let cache = sandbox.cache
    #expect(await text(cache, sandbox.request("/a")) == "/a")
    sandbox.clock.advance(bySeconds: 100)
    #expect(await text(cache, sandbox.request("/a")) == "/a")
    #expect(sandbox.origin.requests.count == 1)
    func keepInMemory(_ target: String = "/m", _ data: Data = Data("m".utf8)) throws {
      let response = try #require(
        HTTPURLResponse(
          url: sandbox.origin.url(target), statusCode: 200, httpVersion: nil,
          headerFields: ["Cache-Control": "max-age=3600"]))
      try cache.store(
        CachedURLResponse(
          response: response, data: data, userInfo: nil, storagePolicy: .allowedInMemoryOnly),
        for: sandbox.request(target))
    }
    // What is too large replaces nothing.
    #expect(throws: (any Error).self) { try keepInMemory("/a", Data(count: 100 << 20)) }
    #expect(cache.cachedResponse(for: sandbox.request("/a"))?.data == Data("/a".utf8))
    try keepInMemory()
    #expect(cache.cachedResponse(for: sandbox.request("/m")) != nil)
    cache.close()
    cache.close()
    #expect(cache.cachedResponse(for: sandbox.request("/m")) == nil)
    #expect(throws: (any Error).self) { try keepInMemory() }
    #expect(cache.cachedResponse(for: sandbox.request("/m")) == nil)
    let folder = sandbox.folder.appendingPathComponent("store")
    let sessions = try FileManager.default.contentsOfDirectory(
      atPath: folder.appendingPathComponent("staging").path)
    #expect(sessions == [])
    let (_, response) = try await cache.data(for: sandbox.request("/b"))
    #expect(response.metadata?.source == .network)
    let status = try #require(response.metadata?.cacheStatus)
    #expect(!status.contains("; stored") && status.contains("it was closed before"), "\(status)")
    #expect(cache.cachedResponse(for: sandbox.request("/a")) == nil)
    #expect(throws: StoreError.self) { try cache.pin(sandbox.request("/a")) }
    let store = try Store(at: folder.path, options: Options(isReadOnly: true))
    let entries = Array(store.entries())
    #expect(entries.map(\.key) == ["GET \(sandbox.origin.url("/a").absoluteString)"])
    let accessed = try #require(entries.first?.accessed.nanoseconds)
    #expect(accessed >= sandbox.clock.now())
  }

  @Test func `the lock is not reported as released while a long body arrives`() async throws {
    let sandbox = try FaceSandbox { _ in fresh(String(repeating: "x", count: 1 << 20)) }
    let (bytes, _) = try await sandbox.cache.bytes(for: sandbox.request())
    var iterator = bytes.makeAsyncIterator()
    for _ in 0..<100_000 { _ = try await iterator.next() }
    #expect(!sandbox.cache.relinquish())
    bytes.cancel()
    await eventually { sandbox.cache.relinquish() }
  }

  @Test func `a cache is opened on another thread`() async throws {
    let sandbox = try FaceSandbox()
    let folder = sandbox.folder.appendingPathComponent("store")
    let cache = try await OfflineCache.open(capacity: 2 << 20, directory: folder)
    #expect(cache.capacity == 2 << 20)
    let error = await #expect(throws: StoreError.self) {
      try await OfflineCache.open(capacity: 0, directory: folder)
    }
    #expect(error?.code == .invalidLimits)
  }

  @Test func `a cache that cannot be opened says where, what and why`() throws {
    let sandbox = try FaceSandbox()
    let file = sandbox.folder.appendingPathComponent("file")
    try Data("x".utf8).write(to: file)
    let noDirectory = #expect(throws: StoreError.self) {
      try OfflineCache(capacity: 1 << 20, directory: file)
    }
    #expect(noDirectory?.code == .notADirectory)
    for capacity in [0, -1, Int.min] {
      let error = #expect(throws: StoreError.self) {
        try OfflineCache(capacity: capacity, directory: file)
      }
      #expect(error?.code == .invalidLimits)
    }
    let noFile = #expect(throws: StoreError.self) {
      try OfflineCache(capacity: 1 << 20, directory: sandbox.origin.url())
    }
    #expect(noFile?.code == .notADirectory)
  }
}
