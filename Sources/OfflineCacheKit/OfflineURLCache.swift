import CacheFormat
import CacheStore
public import Foundation
import HTTPSemantics

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A `URLCache` for `configuration.urlCache` that is an ``OfflineCache`` behind its face.
///
/// On Apple platforms URLSession asks it and stores into it. On Linux URLSession asks it before data
/// tasks and never stores: it answers what `data(for:)` or ``OfflineURLProtocol`` have stored. There it
/// also judges by rules of its own what it is given; fields that it would misjudge (`Cache-Control`,
/// `Expires`, `Vary`, `Pragma`) are left out of what it gets, as our rules have decided already.
public final class OfflineURLCache: URLCache, @unchecked Sendable {
  // Unchecked as the superclass is; what is added never changes.

  /// Gives the cache behind it.
  public let cache: OfflineCache

  /// Makes the face of a cache.
  public init(_ cache: OfflineCache) {
    self.cache = cache
    super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
  }

  @available(*, unavailable)
  public required init?(coder: NSCoder) { nil }

  /// Gives what is stored for a request, however old.
  public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    cache.cachedResponse(for: request)
  }

  /// Stores a response where the rules allow it.
  public override func storeCachedResponse(
    _ cachedResponse: CachedURLResponse, for request: URLRequest
  ) {
    _ = try? cache.store(cachedResponse, for: request)
  }

  /// Removes what is stored for a request.
  public override func removeCachedResponse(for request: URLRequest) {
    _ = try? cache.remove(for: request)
  }

  /// Removes everything.
  public override func removeAllCachedResponses() { try? cache.removeAll() }

  /// Removes what was stored at a moment or later.
  public override func removeCachedResponses(since date: Date) {
    let moment = Timestamp(nanoseconds: Int64(clamping: Int(date.timeIntervalSince1970 * 1e9)))
    cache.client.removeFromMemory(since: moment)
    for entry in cache.store.entries() where entry.created >= moment {
      _ = try? cache.store.remove(entry.key, variant: entry.variant)
    }
  }

  /// Gives the bytes on disk.
  public override var currentDiskUsage: Int { cache.size.physical }

  /// Gives the bytes in memory.
  public override var currentMemoryUsage: Int { cache.client.memoryBytes }

  /// Gives or changes the most bytes on disk; 0 or less changes nothing.
  public override var diskCapacity: Int {
    get { cache.capacity }
    set { try? cache.setCapacity(newValue) }
  }

  #if !canImport(Darwin)
    /// Answers a data task with what may be used now by its policy, so that nothing else is asked.
    public override func getCachedResponse(
      for dataTask: URLSessionDataTask,
      completionHandler: @escaping (CachedURLResponse?) -> Void
    ) {
      completionHandler(dataTask.currentRequest.flatMap(usable))
    }

    /// Does nothing: URLSession on Linux asks for this by rules that are not those of HTTP.
    public override func removeCachedResponse(for dataTask: URLSessionDataTask) {}

    private func usable(_ request: URLRequest) -> CachedURLResponse? {
      guard let asked = try? AskedRequest(request, mode: cache.offlineMode),
        let (bytes, response) = cache.storedNow(asked)
      else { return nil }
      return CachedURLResponse(
        response: response.without(["Cache-Control", "Expires", "Vary", "Pragma"]),
        data: Data(bytes))
    }
  #endif
}
