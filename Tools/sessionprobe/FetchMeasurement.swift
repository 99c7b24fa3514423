import CCurl
import CCurlLibrary
import CacheStore
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import OfflineCacheKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Measures what a fetch from a server costs beside libcurl alone, in turns over kept connections.
struct FetchMeasurement {
  private let url: URL
  private let count: Int

  init(_ text: String, count: Int) {
    guard let url = URL(string: text) else { stop(2, "\(text) is no URL") }
    self.url = url
    self.count = max(1, count)
  }

  func run() async {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("sessionprobe-fetch-\(UUID().uuidString)")
    guard let handle = unsafe Self.handle(url),
      let normal = try? NormalizedURL(url.absoluteString), let transport = try? CurlTransport(),
      let cache = try? OfflineCache(capacity: 16 << 20, directory: folder)
    else { stop(3, "it cannot be set up") }
    let request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
    let plain = HTTPRequest(url: normal)
    var times: [[UInt64]] = [[], [], [], []]
    var fields: [String: String] = [:]
    for number in 0..<count + 50 {
      let start = DispatchTime.now().uptimeNanoseconds
      guard unsafe curl_easy_perform(handle) == CURLE_OK else { stop(1, "libcurl has failed") }
      let first = DispatchTime.now().uptimeNanoseconds
      do {
        let answer = try await transport.send(plain)
        while try await answer.body.next() != nil {}
      } catch { stop(1, "\(error)") }
      let second = DispatchTime.now().uptimeNanoseconds
      do {
        let (_, response) = try await cache.data(for: request)
        if fields.isEmpty { fields = response.allHeaderFields as? [String: String] ?? [:] }
      } catch { stop(1, "\(error)") }
      let third = DispatchTime.now().uptimeNanoseconds
      _ = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
      let fourth = DispatchTime.now().uptimeNanoseconds
      // The first ones make connections.
      guard number >= 50 else { continue }
      for (index, time) in [
        first - start, second - first, third - second, fourth - third,
      ].enumerated() {
        times[index].append(time)
      }
    }
    unsafe curl_easy_cleanup(handle)
    let medians = times.map { $0.sorted()[$0.count / 2] }
    print("one after the other, median of \(count):")
    tell(medians.map { Double($0) / 1000 })
    print("16 at once, mean of \(count):")
    let parallel = ParallelFetches(url: url, count: max(1, count / 16), parallel: 16)
    _ = await parallel.run(cache, transport, normal)
    tell(await parallel.run(cache, transport, normal))
    cache.store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  private func tell(_ microseconds: [Double]) {
    let names = [
      "libcurl alone", "CurlTransport.send", "OfflineCache.data(for:), asked anew",
      "HTTPURLResponse(url:statusCode:httpVersion:headerFields:) alone",
    ]
    for (name, time) in zip(names, microseconds) {
      let ratio = (time / microseconds[0] * 100).rounded() / 100
      print("  \(name): \((time * 10).rounded() / 10) us, \(ratio) x")
    }
  }

  /// Makes a handle that throws the body away.
  static func handle(_ url: URL) -> UnsafeMutableRawPointer? {
    // Safety: the handle is used by this thread alone; the callback gets no context.
    guard let handle = unsafe curl_easy_init() else { return nil }
    let isSet =
      unsafe occurl_set_string(handle, CURLOPT_URL, url.absoluteString) == CURLE_OK
      && occurl_set_write_callback(handle, { _, size, count, _ in size * count }, nil) == CURLE_OK
    return unsafe isSet ? handle : nil
  }
}
