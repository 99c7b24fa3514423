/// A `URLCache` for `configuration.urlCache` that uses an ``OfflineCache``.
///
/// On Apple platforms URLSession reads from it and stores into it. On Linux URLSession reads from
/// it before data tasks and never stores: it returns the responses that `data(for:)` or
/// ``OfflineURLProtocol`` have stored. On Linux, URLSession also applies its own rules to a
/// response. The fields that it would misinterpret (`Cache-Control`, `Expires`, `Vary`, `Pragma`)
/// are removed, because this cache has applied the rules already.
public final class OfflineURLCache: URLCache, @unchecked Sendable {
  // Unchecked, as the superclass is; the added property never changes.

  /// The cache that is used.
  public let cache: OfflineCache

  /// Creates a `URLCache` that uses a cache.
  public init(_ cache: OfflineCache) {
    self.cache = cache
    super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
  }

  @available(*, unavailable)
  public required init?(coder: NSCoder) { nil }

  /// Returns the stored response for a request, however old it is.
  public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    cache.cachedResponse(for: request)
  }

  /// Stores a response if the rules allow it.
  public override func storeCachedResponse(
    _ cachedResponse: CachedURLResponse, for request: URLRequest
  ) {
    _ = try? cache.store(cachedResponse, for: request)
  }

  /// Removes the stored responses for a request.
  public override func removeCachedResponse(for request: URLRequest) {
    _ = try? cache.remove(for: request)
  }

  /// Removes everything.
  public override func removeAllCachedResponses() { try? cache.removeAll() }

  /// Removes the responses that were stored at a date or later. Other entries of the store stay.
  public override func removeCachedResponses(since date: Date) {
    let moment = Timestamp(nanoseconds: 0).advanced(bySeconds: date.timeIntervalSince1970)
    try? cache.client.removeResponses(since: moment)
  }

  /// The bytes on disk.
  public override var currentDiskUsage: Int { cache.size.physical }

  /// The bytes in memory.
  public override var currentMemoryUsage: Int { cache.client.memoryBytes }

  /// The largest number of bytes on disk. Setting it below 16 KiB (with blocks of 4 KiB)
  /// changes nothing.
  public override var diskCapacity: Int {
    get { cache.capacity }
    set { try? cache.setCapacity(newValue) }
  }

  /// Stores a response for the request of a data task.
  public override func storeCachedResponse(
    _ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask
  ) {
    if let request = dataTask.currentRequest { storeCachedResponse(cachedResponse, for: request) }
  }

  /// Passes on the stored response that the policy of a data task allows now.
  public override func getCachedResponse(
    for dataTask: URLSessionDataTask,
    completionHandler: @escaping (CachedURLResponse?) -> Void
  ) {
    completionHandler(dataTask.currentRequest.flatMap(usable))
  }

  /// Removes the stored responses for the request of a data task. On Linux it does nothing:
  /// URLSession calls this there by rules that are not those of HTTP.
  public override func removeCachedResponse(for dataTask: URLSessionDataTask) {
    #if canImport(Darwin)
      dataTask.currentRequest.map(removeCachedResponse)
    #endif
  }

  private func usable(_ request: URLRequest) -> CachedURLResponse? {
    guard let asked = try? AskedRequest(request, mode: cache.offlineMode),
      let (bytes, response) = cache.storedNow(asked, mayTakeLonger: true)
    else { return nil }
    return CachedURLResponse(
      response: response.without(["Cache-Control", "Expires", "Vary", "Pragma"]),
      data: Data(bytes))
  }
}
