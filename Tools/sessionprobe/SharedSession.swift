import LoopbackOrigin
import OfflineCacheKit
import Synchronization

/// The cache under `URLSession.shared`, which takes classes that are registered before its first use.
struct SharedSession {
  private let setting: Setting

  init(_ setting: Setting) { self.setting = setting }

  /// Asks twice, and ends the process where the second answer is not the store's.
  func run() {
    guard URLProtocol.registerClass(OfflineURLProtocol.self) else { stop(3, "not registered") }
    let sources = (0..<2).map { _ in source() }
    print("shared: \(sources.map { $0?.rawValue ?? "none" }.joined(separator: ", "))")
    setting.remove()
    if sources != [.network, .disk] { stop(1, "it should be: network, disk") }
  }

  private func source() -> ResponseMetadata.Source? {
    let done = DispatchSemaphore(value: 0)
    let source = Mutex<ResponseMetadata.Source?>(nil)
    let task = URLSession.shared.dataTask(with: setting.origin.url("/hot/1")) { _, response, _ in
      source.withLock { $0 = (response as? OfflineURLResponse)?.metadata?.source }
      done.signal()
    }
    task.resume()
    if done.wait(timeout: .now() + 60) == .timedOut { stop(1, "shared: no answer for 60 s") }
    return source.withLock { $0 }
  }
}
