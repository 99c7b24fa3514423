import LoopbackOrigin
import OfflineCacheKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct OfflineCacheDelegateTests {
  /// A model of a user interface: all of its state is on the main actor.
  @MainActor private final class SizeModel: OfflineCacheDelegate, StoreSizeDelegate {
    private(set) var sizes: [OfflineCache.Size] = []
    private var waiter: CheckedContinuation<Void, Never>?
    nonisolated let asked = Mutex<[String]>([])
    nonisolated let bytesPerEntry: UInt64 = 1000

    func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) {
      MainActor.preconditionIsolated()
      sizes.append(size)
      waiter?.resume()
      waiter = nil
    }

    nonisolated func offlineCache(
      _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
      for request: URLRequest
    ) -> Bool {
      asked.withLock { $0.append(request.url?.path ?? "") }
      return request.url?.path != "/refused"
    }

    nonisolated func size(of statistics: Statistics) -> UInt64 {
      UInt64(statistics.entries) * bytesPerEntry
    }

    func wait(untilBytes bytes: Int) async {
      while sizes.last?.logical != bytes {
        await withCheckedContinuation { waiter = $0 }
      }
    }
  }

  @Test func `a class of the main actor is told of the size there`() async throws {
    let sandbox = try FaceSandbox { fresh($0.target) }
    let model = SizeModel()
    sandbox.cache.delegate = model
    #expect(await text(sandbox.cache, sandbox.request("/a")) == "/a")
    await model.wait(untilBytes: 2)
    #expect(await text(sandbox.cache, sandbox.request("/bc")) == "/bc")
    await model.wait(untilBytes: 5)
  }

  @Test func `events that leave the size as it is are not told`() async throws {
    let sandbox = try FaceSandbox { fresh($0.target) }
    #expect(await text(sandbox.cache, sandbox.request("/a")) == "/a")
    let before = sandbox.cache.size
    let model = SizeModel()
    sandbox.cache.delegate = model
    for _ in 0..<20 { #expect(await text(sandbox.cache, sandbox.request("/a")) == "/a") }
    #expect(await text(sandbox.cache, sandbox.request("/bc")) == "/bc")
    await model.wait(untilBytes: 5)
    #expect(await model.sizes.first != before)
  }

  @Test func `a class of the main actor decides on stored responses`() async throws {
    let sandbox = try FaceSandbox { fresh($0.target) }
    let model = SizeModel()
    sandbox.cache.delegate = model
    for path in ["/a", "/a", "/refused", "/refused"] {
      #expect(await text(sandbox.cache, sandbox.request(path)) == path)
    }
    #expect(sandbox.origin.requests.count == 3)
    #expect(model.asked.withLock { Set($0) } == ["/a", "/refused"])
  }

  @Test func `a delegate that waits delays neither the cache nor other delegates`() async throws {
    final class Slow: OfflineCacheDelegate {
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
      let calls = Mutex(0)

      func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) async {
        calls.withLock { $0 += 1 }
        for await _ in stream { break }
      }
    }
    let sandbox = try FaceSandbox { fresh($0.target) }
    let slow = Slow()
    sandbox.cache.delegate = slow
    for number in 0..<20 {
      #expect(await text(sandbox.cache, sandbox.request("/\(number)")) == "/\(number)")
    }
    #expect(slow.calls.withLock { $0 } <= 1)
    let model = SizeModel()
    sandbox.cache.delegate = model
    #expect(await text(sandbox.cache, sandbox.request("/last")) == "/last")
    await model.wait(untilBytes: sandbox.cache.size.logical)
    slow.continuation.finish()
  }

  @Test func `a size delegate of the main actor bounds a cache by entries`() async throws {
    let model = SizeModel()
    var options = OfflineCacheOptions()
    options.sizeDelegate = model
    let sandbox = try FaceSandbox(options, capacity: 5000) { fresh($0.target) }
    for number in 0..<12 {
      #expect(await text(sandbox.cache, sandbox.request("/\(number)")) == "/\(number)")
    }
    let statistics = sandbox.cache.store.statistics
    #expect(statistics.entries <= 5)
    #expect(statistics.evictions >= 7)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request("/11")) != nil)
  }

  @Test func `the delegate decides on stored responses, and hears of the size`() async throws {
    let sandbox = try FaceSandbox { fresh($0.target) }
    let delegate = Watcher()
    sandbox.cache.delegate = delegate
    var sizes = delegate.sizes.stream.makeAsyncIterator()
    #expect(await text(sandbox.cache, sandbox.request("/a")) == "/a")
    #expect(await text(sandbox.cache, sandbox.request("/private")) == "/private")
    while let size = await sizes.next(), size.logical != "/a/private".utf8.count {}
    #expect(sandbox.cache.cachedResponse(for: sandbox.request("/a")) != nil)
    #expect(sandbox.cache.cachedResponse(for: sandbox.request("/private")) == nil)
    #expect(await text(sandbox.cache, sandbox.request("/private")) == "/private")
    #expect(sandbox.origin.requests.count == 3)
    let asked = delegate.asked.withLock { $0 }
    #expect(asked.contains("/a 200 max-age=1000"))
    sandbox.cache.delegate = nil
    #expect(await text(sandbox.cache, sandbox.request("/private")) == "/private")
    #expect(sandbox.origin.requests.count == 3)
  }

  private final class Watcher: OfflineCacheDelegate {
    let asked = Mutex<[String]>([])
    let sizes = AsyncStream.makeStream(of: OfflineCache.Size.self)

    func offlineCache(
      _ cache: OfflineCache, shouldReturnCachedResponse response: HTTPURLResponse,
      for request: URLRequest
    ) -> Bool {
      let path = request.url?.path ?? ""
      let control = response.value(forHTTPHeaderField: "Cache-Control") ?? ""
      asked.withLock { $0.append("\(path) \(response.statusCode) \(control)") }
      return path != "/private"
    }

    func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) {
      sizes.continuation.yield(size)
    }
  }
}
