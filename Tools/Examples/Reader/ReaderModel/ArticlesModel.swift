public import Observation
public import OfflineCacheKit

/// The state of the app: the list of articles, where it came from, and the size of the cache.
@Observable @MainActor
public final class ArticlesModel: OfflineCacheDelegate {
  /// The articles that are shown. An answer that cannot be used leaves them as they are.
  public private(set) var articles: [Article] = []
  /// The reason why the list came from the store; `nil` if the server has sent or confirmed it.
  public private(set) var storedReason: String?
  /// A text for the user about the last failure; `nil` if there was none.
  public private(set) var errorText: String?
  /// Whether the list is being fetched.
  public private(set) var isLoading = false
  /// The bytes of the cache on disk.
  public private(set) var storedBytes: Int

  /// The address of the list.
  public let list: URL
  /// The cache that answers all requests of the app.
  public let cache: OfflineCache

  /// The number of calls so far. Only the newest one changes what is shown.
  @ObservationIgnored private var calls = 0

  /// Creates the model of a list, and becomes the delegate of the cache.
  public init(list: URL, cache: OfflineCache) {
    self.list = list
    self.cache = cache
    storedBytes = cache.size.physical
    cache.delegate = self
  }

  /// Shows the list from the store if it is fresh or there is no network, else from the server.
  public func load() async {
    await show(URLRequest(url: list))
  }

  /// Asks the server whether the list has changed, even if the stored one is fresh.
  public func refresh() async {
    await show(URLRequest(url: list, cachePolicy: .reloadRevalidatingCacheData))
  }

  /// Fetches all pages and pictures of the list that are not stored, to be read offline.
  public func keepForOffline() async {
    let urls = articles.map(\.url) + articles.compactMap(\.image)
    _ = await cache.prefetch(urls.map { URLRequest(url: $0) })
  }

  /// Returns the picture of an article, or `nil` if there is none to be had.
  public func picture(of article: Article) async -> Data? {
    guard let url = article.image, let (data, response) = try? await cache.data(from: url),
      response.statusCode == 200
    else { return nil }
    return data
  }

  /// Removes all that is stored, and the list.
  public func clear() async {
    calls += 1
    isLoading = false
    do throws(StoreError) {
      try await Self.removeAll(from: cache)
      (articles, storedReason, errorText) = ([], nil, nil)
    } catch {
      errorText = error.localizedDescription
    }
  }

  /// Takes the new size of the cache.
  public func offlineCache(_ cache: OfflineCache, didChangeSize size: OfflineCache.Size) {
    storedBytes = size.physical
  }

  /// Removes everything, off the main thread, because that takes as long as the disk does.
  @concurrent
  private nonisolated static func removeAll(from cache: OfflineCache) async throws(StoreError) {
    try cache.removeAll()
  }
}

// Fetching the list.
extension ArticlesModel {
  private func show(_ request: URLRequest) async {
    calls += 1
    let call = calls
    isLoading = true
    defer { if call == calls { isLoading = false } }
    let previous = cache.cachedResponse(for: request)
    do throws(URLError) {
      let (data, response) = try await cache.data(for: request)
      let new = response.statusCode == 200 ? Self.articles(in: data) : nil
      if new == nil, call == calls { putBack(previous, for: request) }
      guard call == calls else { return }
      if let new {
        (articles, storedReason, errorText) = (new, Self.storedReason(of: response), nil)
      } else {
        let fault =
          response.statusCode == 200
          ? "it cannot be read" : "the server has answered \(response.statusCode)"
        keep(previous, "\(host) has sent no usable list: \(fault). Try again later.")
      }
    } catch {
      guard call == calls, error.code != .cancelled else { return }
      keep(previous, Self.text(of: error, host: host))
    }
  }

  private var host: String { list.host() ?? list.absoluteString }

  /// Keeps the articles that are shown, or shows the stored ones, and tells the user why.
  private func keep(_ previous: CachedURLResponse?, _ text: String) {
    if articles.isEmpty, let previous { articles = Self.articles(in: previous.data) ?? [] }
    storedReason = articles.isEmpty ? nil : "it is stored, and there is no newer one"
    errorText = text
  }

  /// Stores the last usable list again, which an unusable answer has replaced: it is needed if the
  /// app starts without a network. Its `Date` says how old it is.
  private func putBack(_ previous: CachedURLResponse?, for request: URLRequest) {
    if let previous, Self.articles(in: previous.data) != nil {
      _ = try? cache.store(previous, for: request)
    } else {
      _ = try? cache.remove(for: request)
    }
  }

  private static func articles(in data: Data) -> [Article]? {
    guard let all = try? JSONDecoder().decode([Article].self, from: data) else { return nil }
    var known: Set<URL> = []
    return all.filter { known.insert($0.url).inserted }
  }

  private static func storedReason(of response: OfflineURLResponse) -> String? {
    guard let metadata = response.metadata, metadata.source != .network,
      !metadata.cacheStatus.contains("fwd-status=304")
    else { return nil }
    return metadata.reason
  }

  private static func text(of error: URLError, host: String) -> String {
    switch error.code {
    case .notConnectedToInternet, .cannotFindHost, .cannotConnectToHost, .timedOut,
      .networkConnectionLost:
      "\(host) cannot be reached. Check the connection to the network."
    default: error.localizedDescription
    }
  }
}
