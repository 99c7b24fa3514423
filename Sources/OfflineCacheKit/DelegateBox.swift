import CacheClient
import CacheSystem
import Foundation
import HTTPSemantics

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Holds the delegate of a cache, and the cache, both weakly: the client asks it.
final class DelegateBox: Sendable {
  private struct State {
    weak var delegate: (any OfflineCacheDelegate)?
    weak var cache: OfflineCache?
  }

  private let state = Lock(State())

  var delegate: (any OfflineCacheDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  var cache: OfflineCache? {
    get { state.withLock { $0.cache } }
    set { state.withLock { $0.cache = newValue } }
  }

  /// Asks the delegate whether a stored response may answer; without one it may.
  func mayReturn(_ head: HTTPResponseHead, to request: HTTPRequest) -> Bool {
    let (delegate, cache) = state.withLock { ($0.delegate, $0.cache) }
    guard let delegate, let cache, let url = URL(string: request.url.string),
      let response = OfflineURLResponse.plain(head, url: url)
    else { return true }
    var asked = URLRequest(url: url)
    asked.httpMethod = request.method.rawValue
    // In its place stands a name, which means nothing to others.
    for field in request.fields where !CachingClient.isPlaceholder(field) {
      asked.addValue(field.text, forHTTPHeaderField: field.name)
    }
    return callOut {
      delegate.offlineCache(cache, shouldReturnCachedResponse: response, for: asked)
    }
  }
}
