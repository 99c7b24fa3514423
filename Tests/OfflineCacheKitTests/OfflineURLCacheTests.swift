import LoopbackOrigin
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(5)))
struct OfflineURLCacheTests {
  private func end(_ session: URLSession, _ request: URLRequest) async -> String {
    await withCheckedContinuation { continuation in
      session.dataTask(with: request) { data, _, error in
        let text = data.map { String(decoding: $0, as: UTF8.self) } ?? ""
        continuation.resume(
          returning: error.map { "\(($0 as? URLError)?.code.rawValue ?? 1)" } ?? text)
      }.resume()
    }
  }

  @Test func `a session is answered by what the cache has stored, while its rules allow it`()
    async throws
  {
    let sandbox = try FaceSandbox { request in
      fresh(
        "ours", seconds: 100,
        ["Vary: Accept", "Expires: Thu, 01 Jan 1970 00:00:00 GMT", "ETag: \"1\""])
    }
    let configuration = URLSessionConfiguration.default
    configuration.urlCache = OfflineURLCache(sandbox.cache)
    let session = URLSession(configuration: configuration)
    // URLSession itself stores nothing on Linux.
    #expect(await end(session, sandbox.request("/a?q=1")) == "ours")
    #expect(sandbox.cache.size.logical == 0)
    #expect(await text(sandbox.cache, sandbox.request("/a?q=1")) == "ours")
    #expect(sandbox.origin.requests.count == 2)
    for _ in 0..<3 { #expect(await end(session, sandbox.request("/a?q=1")) == "ours") }
    #expect(sandbox.origin.requests.count == 2)
    // The policy counts, which URLSession on Linux does not know.
    let reload = sandbox.request("/a?q=1", .reloadIgnoringLocalCacheData)
    #expect(await end(session, reload) == "ours")
    #expect(sandbox.origin.requests.count == 3)
    // Another query is another resource, and what is stale is not used.
    #expect(await end(session, sandbox.request("/a?q=2")) == "ours")
    #expect(sandbox.origin.requests.count == 4)
    sandbox.clock.advance(bySeconds: 200)
    #expect(await end(session, sandbox.request("/a?q=1")) == "ours")
    #expect(sandbox.origin.requests.count == 5)
    // Nothing that is stored is lost by what URLSession thinks of it.
    sandbox.cache.offlineMode = .always
    sandbox.origin.stop()
    #expect(await end(session, sandbox.request("/a?q=1")) == "ours")
    session.finishTasksAndInvalidate()
  }

  @Test func `a session is answered with long and with coded bodies, too`() async throws {
    let long = String(repeating: "0123456789", count: 20_000)
    let coded = Self.deflated(Array(long.utf8))
    let sandbox = try FaceSandbox { request in
      guard request.target == "/coded" else { return fresh(long) }
      return OriginAnswer(
        coded, fields: ["Cache-Control: max-age=60", "Content-Encoding: deflate"])
    }
    let configuration = URLSessionConfiguration.default
    configuration.urlCache = OfflineURLCache(sandbox.cache)
    let session = URLSession(configuration: configuration)
    for target in ["/long", "/coded"] {
      #expect(await text(sandbox.cache, sandbox.request(target)) == long)
    }
    sandbox.cache.offlineMode = .always
    for target in ["/long", "/coded"] {
      #expect(await end(session, sandbox.request(target)) == long)
    }
    #expect(sandbox.origin.requests.count == 2)
    session.finishTasksAndInvalidate()
  }

  /// Returns the bytes in the coding `deflate` (RFC 1950), in blocks that are not compressed.
  private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
    var coded: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: bytes.count, by: 60_000) {
      let block = bytes[start..<min(start + 60_000, bytes.count)]
      let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
      coded += [block.endIndex == bytes.count ? 1 : 0, low, high, ~low, ~high] + block
    }
    var (first, second): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      first = (first + UInt32(byte)) % 65_521
      second = (second + first) % 65_521
    }
    return coded + [second >> 8, second, first >> 8, first].map { UInt8(truncatingIfNeeded: $0) }
  }

  @Test func `it stores, finds and removes as URLCache does`() throws {
    let sandbox = try FaceSandbox(capacity: 8 << 20)
    let cache: URLCache = OfflineURLCache(sandbox.cache)
    #expect(cache.diskCapacity == 8 << 20)
    cache.diskCapacity = 9 << 20
    cache.diskCapacity = -1
    #expect(sandbox.cache.capacity == 9 << 20)
    let start = Date(timeIntervalSince1970: TimeInterval(sandbox.clock.now()) / 1e9)
    for (seconds, target) in [(0, "/old"), (100, "/new")] {
      sandbox.clock.advance(bySeconds: Double(seconds))
      let response = try #require(
        HTTPURLResponse(
          url: sandbox.origin.url(target), statusCode: 200, httpVersion: nil,
          headerFields: ["Cache-Control": "max-age=60"]))
      cache.storeCachedResponse(
        CachedURLResponse(response: response, data: Data(target.utf8)),
        for: sandbox.request(target))
    }
    #expect(cache.currentDiskUsage == sandbox.cache.size.physical)
    #expect(cache.cachedResponse(for: sandbox.request("/old"))?.data == Data("/old".utf8))
    cache.removeCachedResponses(since: .distantFuture)
    #expect(cache.cachedResponse(for: sandbox.request("/new")) != nil)
    cache.removeCachedResponses(since: start + 50)
    #expect(cache.cachedResponse(for: sandbox.request("/old")) != nil)
    #expect(cache.cachedResponse(for: sandbox.request("/new")) == nil)
    let stored = try #require(cache.cachedResponse(for: sandbox.request("/old")))
    cache.removeCachedResponse(for: sandbox.request("/old"))
    #expect(cache.cachedResponse(for: sandbox.request("/old")) == nil)
    cache.removeAllCachedResponses()
    #expect(sandbox.cache.size.logical == 0)
    cache.storeCachedResponse(stored, for: sandbox.request("/old"))
    cache.removeCachedResponses(since: .distantPast)
    #expect(cache.cachedResponse(for: sandbox.request("/old")) == nil)
  }
}
