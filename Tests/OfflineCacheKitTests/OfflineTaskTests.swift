import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

@Suite(.timeLimit(.minutes(2)))
struct OfflineTaskTests {
  @Test func `a task that is over does not keep its handler`() async throws {
    final class Owner: Sendable {
      let task = Mutex<OfflineTask?>(nil)
    }
    let sandbox = try FaceSandbox()
    for isCancelled in [false, true] {
      var owner: Owner? = Owner()
      weak let seen = owner
      await withCheckedContinuation { continuation in
        let task = sandbox.cache.dataTask(with: sandbox.request()) { [owner] _, _, _ in
          _ = owner
          continuation.resume()
        }
        owner?.task.withLock { $0 = task }
        if isCancelled { task.cancel() } else { task.resume() }
      }
      owner = nil
      // The handler itself is released when it has returned.
      await eventually { seen == nil }
    }
  }

  @Test func `completion handlers are called once, with an answer, an error or a cancellation`()
    async throws
  {
    let sandbox = try FaceSandbox()
    let good: (Data?, Int?, URLError?) = await withCheckedContinuation { continuation in
      sandbox.cache.dataTask(with: sandbox.origin.url("/a")) { data, response, error in
        continuation.resume(returning: (data, response?.statusCode, error))
      }.resume()
    }
    #expect(good.0 == Data("hello".utf8))
    #expect(good.1 == 200)
    #expect(good.2 == nil)
    let sent: Data? = await withCheckedContinuation { continuation in
      sandbox.cache.uploadTask(with: sandbox.request("/up"), from: Data("x".utf8)) { data, _, _ in
        continuation.resume(returning: data)
      }.resume()
    }
    #expect(sent == Data("hello".utf8))
    let cancelled: URLError? = await withCheckedContinuation { continuation in
      let task = sandbox.cache.dataTask(with: sandbox.request()) { _, _, error in
        continuation.resume(returning: error)
      }
      task.cancel()
      task.resume()
      task.cancel()
    }
    #expect(cancelled?.code == .cancelled)
  }
}
