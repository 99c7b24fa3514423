import CacheClient
import CacheStore
import Foundation
import LoopbackOrigin
import OfflineCacheKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Holds a cache with a table of substitutes: a thousand URLs of the server, each with a file of the same
/// length as the stored body, and a folder for another host.
struct SubstituteMeasurement {
  let cache: OfflineCache
  /// A URL that has a substitute.
  let request: URLRequest
  private let folder: URL

  init(_ setting: Setting, bodyBytes: Int) throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("sessionprobe-substitutes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appendingPathComponent("file.txt")
    try Data(count: bodyBytes).write(to: file)
    var rules = (0..<1000).map { number in
      SubstituteRule(
        setting.origin.url("/substitute/\(number)").absoluteString, .file(file.path))
    }
    rules.append(SubstituteRule("http://elsewhere.invalid/*", .folder(folder.path)))
    var options = OfflineCacheOptions()
    options.substitutes = try Substitutes(rules)
    cache = try OfflineCache(
      capacity: 16 << 20, directory: folder.appendingPathComponent("store"), options: options)
    request = URLRequest(url: setting.origin.url("/substitute/500"))
  }

  func remove() {
    cache.store.close()
    try? FileManager.default.removeItem(at: folder)
  }
}
