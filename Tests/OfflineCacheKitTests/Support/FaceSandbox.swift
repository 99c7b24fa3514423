import CacheSystem
import CurlHTTP
import LoopbackOrigin
import Synchronization
import Testing

@testable import OfflineCacheKit

/// A cache in a folder of its own and a server on loopback; both go away with it.
final class FaceSandbox: Sendable {
  private let temporary = TemporaryFolder()
  let cache: OfflineCache
  let origin: LoopbackOrigin
  /// Begins now, as servers on this machine tell the time, too.
  let clock = TestClock(SystemClock().now())

  /// - Parameters:
  ///   - transport: stands for the network, where that is not the server on loopback.
  ///   - script: gives the answer to a request.
  init(
    _ options: OfflineCacheOptions = OfflineCacheOptions(), capacity: Int = 64 << 20,
    transport: (any HTTPTransport)? = nil,
    _ script: @escaping LoopbackOrigin.Script = { _ in fresh("hello") }
  ) throws {
    origin = try LoopbackOrigin(script)
    var options = options
    options.clock = clock
    let folder = temporary.url
    cache = try OfflineCache(
      capacity: capacity, directory: folder.appendingPathComponent("store"), options: options,
      transport: transport ?? CurlTransport(options.network))
  }

  deinit {
    origin.stop()
    // What is still under way must not write while the folder goes.
    cache.store.close()
  }

  var folder: URL { temporary.url }

  /// Makes a request to the server.
  func request(
    _ target: String = "/a", _ policy: URLRequest.CachePolicy = .useProtocolCachePolicy
  ) -> URLRequest {
    URLRequest(url: origin.url(target), cachePolicy: policy)
  }

  /// Changes a byte of the stored body with this length.
  func damageBody(of length: Int, at offset: UInt64) throws {
    let folder = folder.appendingPathComponent("store/entries")
    let files = try #require(FileManager.default.enumerator(atPath: folder.path))
    let name = try #require(
      files.compactMap { $0 as? String }.first { name in
        let size = try? FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")[
          .size]
        return (size as? NSNumber)?.intValue == length
      })
    let file = try FileHandle(forUpdating: folder.appendingPathComponent(name))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: Data([0]))
    try file.close()
  }

  /// A session whose requests go through the cache. Session and class are the test's own.
  func session(_ type: OfflineURLProtocol.Type) -> URLSession {
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [type]
    return URLSession(configuration: configuration)
  }

  /// The names in the folder, without the store and the records of downloads.
  var files: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let isRecord = { (name: String) in
      name.hasPrefix(".offlinecache-") && name.hasSuffix(".json") && !name.hasSuffix(".part.json")
    }
    return names.filter { $0 != "store" && !isRecord($0) }.sorted()
  }
}

/// An answer that may be stored.
func fresh(_ text: String, seconds: Int = 1000, _ fields: [String] = []) -> OriginAnswer {
  OriginAnswer(text, fields: ["Cache-Control: max-age=\(seconds)"] + fields)
}

/// Fetches and returns the text of the answer, or the code of the error.
func text(_ cache: OfflineCache, _ request: URLRequest) async -> String {
  do throws(URLError) {
    return String(decoding: try await cache.data(for: request).0, as: UTF8.self)
  } catch {
    return "\(error.code.rawValue)"
  }
}

extension URLError {
  /// The typed error below.
  var cause: (any Error)? { userInfo[NSUnderlyingErrorKey] as? any Error }
}
