import CacheSystem

/// The delegate of a cache, and the cache, both weak. The client uses it to ask the delegate.
final class DelegateBox: Sendable {
  private struct State {
    weak var delegate: (any OfflineCacheDelegate)?
    weak var cache: OfflineCache?
    var sizeTask: Task<Void, Never>?
  }

  private let state = Lock(State())

  var delegate: (any OfflineCacheDelegate)? { state.withLock { $0.delegate } }

  func replace(
    _ delegate: (any OfflineCacheDelegate)?, sizeTask: Task<Void, Never>?
  ) -> Task<Void, Never>? {
    state.withLock { state in
      defer { (state.delegate, state.sizeTask) = (delegate, sizeTask) }
      return state.sizeTask
    }
  }

  func takeSizeTask() -> Task<Void, Never>? { state.withLock { $0.sizeTask.take() } }

  var cache: OfflineCache? {
    get { state.withLock { $0.cache } }
    set { state.withLock { $0.cache = newValue } }
  }

  /// Returns whether the delegate allows a stored response; true if there is no delegate.
  func mayReturn(_ head: HTTPResponseHead, to request: HTTPRequest) -> Bool {
    let (delegate, cache) = state.withLock { ($0.delegate, $0.cache) }
    guard let delegate, let cache, let url = URL(string: request.url.string),
      let response = OfflineURLResponse.plain(head, url: url)
    else { return true }
    var asked = URLRequest(url: url)
    asked.httpMethod = request.method.rawValue
    // A placeholder has the name of a credential as its value, which is useless to the delegate.
    for field in request.fields where !CachingClient.isPlaceholder(field) {
      asked.addValue(field.text, forHTTPHeaderField: field.name)
    }
    return callOut {
      delegate.offlineCache(cache, shouldReturnCachedResponse: response, for: asked)
    }
  }
}
