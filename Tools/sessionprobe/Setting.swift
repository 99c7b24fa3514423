import LoopbackOrigin
import OfflineCacheKit

func stop(_ code: Int32, _ message: String) -> Never {
  FileHandle.standardError.write(Data("sessionprobe: \(message)\n".utf8))
  exit(code)
}

/// A server, a cache in a temporary folder, and the configuration that joins them.
final class Setting: Sendable {
  let origin: LoopbackOrigin
  let cache: OfflineCache
  private let folder: URL

  private init() throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("sessionprobe-\(UUID().uuidString)")
    cache = try OfflineCache(capacity: 256 << 20, directory: folder)
    origin = try LoopbackOrigin(keepsRequests: false) { Self.answer($0.target) }
    OfflineCache.shared = cache
  }

  static func make() -> Setting {
    do { return try Setting() } catch { stop(3, "\(error)") }
  }

  func remove() {
    origin.stop()
    OfflineCache.shared = nil
    cache.store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  func session(_ delegate: (any URLSessionDelegate)? = nil) -> URLSession {
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [OfflineURLProtocol.self]
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  /// `/hot/N` may be stored, `/cold/N` not, `/slow/N` takes a while, `/large/N` is no small body, and
  /// `/moved/N` leads to `/hot/N`.
  private static func answer(_ target: String) -> OriginAnswer {
    let parts = target.split(separator: "/")
    let number = parts.last.map(String.init) ?? ""
    if parts.first == "moved" { return .redirect("/hot/\(number)") }
    var answer = OriginAnswer(body(of: target))
    switch parts.first {
    case "hot":
      // A dozen fields, as usual answers have them.
      answer.fields = ["Cache-Control: max-age=3600", "Content-Type: text/plain", "ETag: \"1\""]
      answer.fields += (1...8).map { "X-Field-\($0): a value of some length" }
    case "large": answer.fields = ["Cache-Control: max-age=3600"]
    case "slow":
      answer.delay = 3000
      answer.fields = ["Cache-Control: no-store"]
    default: answer.fields = ["Cache-Control: no-store"]
    }
    return answer
  }

  static func body(of target: String) -> [UInt8] {
    let final = target.hasPrefix("/moved/") ? "/hot/" + target.dropFirst(7) : target[...]
    let seed = final.utf8.reduce(into: UInt64(7)) { $0 = $0 &* 31 &+ UInt64($1) }
    var random = SplitMix64(seed: seed)
    return random.bytes(final.hasPrefix("/large/") ? 300_000 : 100 + random.below(4000))
  }
}
