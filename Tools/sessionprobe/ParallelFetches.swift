import CCurl
import CCurlLibrary
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import OfflineCacheKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Measures many fetches at once: threads with libcurl alone beside tasks.
struct ParallelFetches {
  let url: URL
  let count: Int
  let parallel: Int

  /// Returns the microseconds for each fetch: of libcurl, of the transport, of the cache.
  func run(_ cache: OfflineCache, _ transport: CurlTransport, _ normal: NormalizedURL) async
    -> [Double]
  {
    let request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
    let plain = HTTPRequest(url: normal)
    let curl = await timed { withThreads() }
    let alone = await timed {
      await withTasks {
        do {
          let answer = try await transport.send(plain)
          while try await answer.body.next() != nil {}
        } catch { stop(1, "\(error)") }
      }
    }
    let cached = await timed {
      await withTasks {
        do { _ = try await cache.data(for: request) } catch { stop(1, "\(error)") }
      }
    }
    return [curl, alone, cached]
  }

  private func timed(_ work: () async -> Void) async -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    await work()
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1000 / Double(count * parallel)
  }

  private func withTasks(_ fetch: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<parallel {
        group.addTask { [count] in for _ in 0..<count { await fetch() } }
      }
    }
  }

  private func withThreads() {
    let group = DispatchGroup()
    for _ in 0..<parallel {
      group.enter()
      Thread.detachNewThread { [count, url] in
        guard let handle = unsafe FetchMeasurement.handle(url) else { stop(3, "no handle") }
        for _ in 0..<count {
          guard unsafe curl_easy_perform(handle) == CURLE_OK else { stop(1, "libcurl has failed") }
        }
        unsafe curl_easy_cleanup(handle)
        group.leave()
      }
    }
    group.wait()
  }
}
