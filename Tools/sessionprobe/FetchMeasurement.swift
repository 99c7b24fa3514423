import CCurl
import CCurlLibrary
import CurlHTTP
import Foundation
import HTTPSemantics
import HTTPTransports
import OfflineCacheKit
import URLSessionHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Measures what a fetch from a server costs beside libcurl and URLSession alone, in turns over kept
/// connections.
struct FetchMeasurement {
  /// One way to fetch.
  private struct Way {
    let name: String
    /// The way whose time this one is compared with.
    let base: Int
    let fetch: () async throws -> Void
    var times: [UInt64] = []
  }

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
    defer { try? FileManager.default.removeItem(at: folder) }
    var ways: [Way] = []
    do {
      let cache = try OfflineCache(capacity: 16 << 20, directory: folder)
      ways = try self.ways(cache)
    } catch { stop(3, "it cannot be set up: \(error)") }
    for number in 0..<count + 50 {
      for place in ways.indices {
        let start = DispatchTime.now().uptimeNanoseconds
        do { try await ways[place].fetch() } catch { stop(1, "\(ways[place].name): \(error)") }
        // The first ones make connections.
        if number >= 50 { ways[place].times.append(DispatchTime.now().uptimeNanoseconds - start) }
      }
    }
    print("one after the other, median of \(count):")
    let medians = ways.map { Double($0.times.sorted()[count / 2]) / 1000 }
    for (way, time) in zip(ways, medians) {
      let ratio = (time / medians[way.base] * 100).rounded() / 100
      print("  \(way.name): \((time * 10).rounded() / 10) us, \(ratio) x \(ways[way.base].name)")
    }
  }

  private func ways(_ cache: OfflineCache) throws -> [Way] {
    guard let handle = unsafe Self.handle(url.absoluteString) else {
      stop(3, "libcurl has no memory")
    }
    let plain = HTTPRequest(url: try NormalizedURL(url.absoluteString))
    let request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
    let session = URLSession(configuration: .ephemeral)
    func send(_ transport: any HTTPTransport) -> () async throws -> Void {
      {
        let answer = try await transport.send(plain)
        while try await answer.body.next() != nil {}
      }
    }
    return [
      Way(name: "libcurl", base: 0) {
        guard unsafe curl_easy_perform(handle) == CURLE_OK else { stop(1, "libcurl has failed") }
      },
      Way(name: "CurlTransport", base: 0, fetch: send(try CurlTransport())),
      Way(name: "OfflineCache.data(for:), asked anew", base: 0) {
        _ = try await cache.data(for: request)
      },
      Way(name: "URLSession", base: 3) { _ = try await Self.data(request, session) },
      Way(name: "URLSessionTransport", base: 3, fetch: send(try URLSessionTransport())),
    ]
  }

  /// Fetches with URLSession: its own async calls can deadlock on Linux.
  private static func data(_ request: URLRequest, _ session: URLSession) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      session.dataTask(with: request) { data, _, error in
        if let error { return continuation.resume(throwing: error) }
        continuation.resume(returning: data ?? Data())
      }.resume()
    }
  }

  /// Makes a handle that throws the body away. It lives as long as the process.
  private static func handle(_ url: String) -> UnsafeMutableRawPointer? {
    // Safety: the handle is used by this thread alone; the callback gets no context.
    guard let handle = unsafe curl_easy_init() else { return nil }
    let isSet =
      unsafe occurl_set_string(handle, CURLOPT_URL, url) == CURLE_OK
      && occurl_set_write_callback(handle, { _, size, count, _ in size * count }, nil) == CURLE_OK
    return unsafe isSet ? handle : nil
  }
}
