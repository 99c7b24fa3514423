import CacheSystem

/// Answers `URLRequest`s from a persistent store and from the network, as the rules of HTTP say.
///
/// One object has the functions of URLSession and URLCache, and works the same way offline and on
/// Linux. `data(for:)` and related methods fetch through the store; `cachedResponse(for:)` and
/// related methods manage stored responses. Safe to use from any thread and many tasks at once.
/// Several processes may use one directory. Guide: Docs/Foundation.md.
public final class OfflineCache: Sendable {
  /// The size of the stored responses, in bytes.
  public struct Size: Sendable, Hashable {
    /// The sum of the lengths of all bodies; equal bodies count as often as they are stored.
    public var logical: Int
    /// The bytes allocated on disk: bodies (equal ones once), metadata, directories, the journal.
    /// The capacity limits this size, unless there is an ``OfflineCacheOptions/sizeDelegate``.
    public var physical: Int
  }

  /// The client that fetches; it has functions that this class does not have.
  public let client: CachingClient

  /// The downloader of files; it does not use the store.
  public let downloader: Downloader

  /// The store of the cache.
  public var store: Store { client.store }

  let options: OfflineCacheOptions
  /// Whether the transport may use a proxy, which may be in the local network.
  let mayUseProxy: Bool
  let delegates: DelegateBox
  /// The queue that runs completion handlers, one after the other, as the delegate queue of a
  /// URLSession does.
  let handlerQueue = DispatchQueue(label: "OfflineCache.handlers")
  private let mode: Lock<OfflineMode>
  #if canImport(Darwin)
    private let memoryPressure: MemoryPressure
  #endif
  private static let sharedCache = Lock<OfflineCache?>(nil)

  /// Opens the cache in a directory, or creates one.
  ///
  /// - Parameters:
  ///   - capacity: The largest number of bytes on disk. It is recorded in the store, for all its
  ///     users. The least recently used responses are evicted first.
  ///   - directory: A directory that only the cache uses.
  ///   - options: The configuration of the cache and its network.
  /// - Throws: The errors of `Store.init`, with path, cause and remedy; `invalidLimits` for a
  ///   capacity below 16 KiB (with blocks of 4 KiB); `invalidNetworkOptions` for pins of an invalid
  ///   host name, a proxy of an unknown scheme, and what URLSession cannot do.
  public convenience init(
    capacity: Int, directory: URL, options: OfflineCacheOptions = OfflineCacheOptions()
  ) throws(StoreError) {
    let transport: any HTTPTransport
    do throws(TransportError) {
      #if canImport(Darwin)
        transport = try URLSessionTransport(options.network, options: options.urlSession)
      #else
        transport = try CurlTransport(options.network)
      #endif
    } catch {
      throw Self.failure(error, directory)
    }
    try self.init(
      capacity: capacity, directory: directory, options: options, transport: transport)
  }

  /// Opens the cache with a transport: libcurl (product CurlHTTP) on a Mac, for example, where
  /// ``init(capacity:directory:options:)`` takes URLSession. ``OfflineCacheOptions/network`` is not
  /// used, as the transport has its own.
  public init(
    capacity: Int, directory: URL, options: OfflineCacheOptions = OfflineCacheOptions(),
    transport: any HTTPTransport
  ) throws(StoreError) {
    guard directory.isFileURL else {
      throw StoreError(
        .notADirectory, path: directory.absoluteString, cause: "it is no URL of a file",
        remedy: "make it with URL(fileURLWithPath:)")
    }
    let bytes = try Self.limit(capacity, directory)
    let store = try Store(
      at: directory.path,
      options: Options(
        durability: options.durability,
        sizeDelegate: options.sizeDelegate, clock: options.clock))
    #if canImport(Darwin)
      try Self.setAttributes(of: directory, options)
    #endif
    var limits = store.limits
    if limits.bytes != bytes {
      limits.bytes = bytes
      try store.setLimits(limits)
    }
    let delegates = DelegateBox()
    self.options = options
    mayUseProxy = transport.mayUseProxy
    self.delegates = delegates
    mode = Lock(options.offlineMode)
    var clientOptions = ClientOptions(
      transport: AskedRequest.defaultTimeouts, rules: options.rules, keyRule: options.keyRule,
      mayReturnStored: { delegates.mayReturn($1, to: $0) }, credentials: options.credentials)
    clientOptions.credentialVault = options.credentialVault
    clientOptions.hotBytes = max(0, options.memoryCapacity)
    clientOptions.memoryOnlyBytes = options.memoryOnlyCapacity
    clientOptions.substitutes = options.substitutes
    clientOptions.remote = options.remote
    clientOptions.fingerprintKey = options.fingerprintKey
    clientOptions.transport.allowsInsecureRedirects = options.allowsInsecureRedirects
    client = CachingClient(
      store: store, transport: transport, options: clientOptions, clock: options.clock)
    downloader = client.makeDownloader(options: options.downloads)
    #if canImport(Darwin)
      memoryPressure = MemoryPressure(emptying: client)
    #endif
    delegates.cache = self
  }

  /// Opens the cache on another thread than the caller's, which may be the main thread; see
  /// ``init(capacity:directory:options:)``.
  public static func open(
    capacity: Int, directory: URL, options: OfflineCacheOptions = OfflineCacheOptions()
  ) async throws(StoreError) -> OfflineCache {
    try await WorkerPool(threads: 1).call { () throws(StoreError) in
      try OfflineCache(capacity: capacity, directory: directory, options: options)
    }
  }

  deinit {
    if let task = delegates.takeSizeTask() { callOut { task.cancel() } }
  }

  /// The cache that ``OfflineURLProtocol`` uses, and any code that needs a shared one; `nil` until
  /// a program sets it.
  public static var shared: OfflineCache? {
    get { sharedCache.withLock { $0 } }
    set {
      // The old cache closes its store when it is released. That takes a while, so it is done
      // outside the lock.
      let old = sharedCache.withLock { shared in
        defer { shared = newValue }
        return shared
      }
      _ = old
    }
  }

  /// The mode that decides when stored responses are used in place of the network.
  public var offlineMode: OfflineMode {
    get { mode.withLock { $0 } }
    set { mode.withLock { $0 = newValue } }
  }

  /// The source for the state of the network, or `nil` if there is none.
  public var reachability: (any NetworkReachability)? { options.reachability }

  /// The delegate, held weakly. See ``OfflineCacheDelegate`` for the threads on which it is called.
  public var delegate: (any OfflineCacheDelegate)? {
    get { delegates.delegate }
    set {
      let old = delegates.replace(newValue, sizeTask: newValue == nil ? nil : makeSizeTask())
      if let old { callOut { old.cancel() } }
    }
  }

  /// The largest number of bytes on disk.
  public var capacity: Int { Int(clamping: store.limits.bytes ?? .max) }

  /// Changes the capacity for all users of the store, and evicts responses that exceed it.
  ///
  /// - Throws: `invalidLimits` if the capacity is below 16 KiB (with blocks of 4 KiB), or more is pinned;
  ///   `readOnly`.
  public func setCapacity(_ capacity: Int) throws(StoreError) {
    var limits = store.limits
    limits.bytes = try Self.limit(capacity, URL(fileURLWithPath: store.path))
    try store.setLimits(limits)
  }

  /// The size of the stored responses.
  public var size: Size {
    let statistics = store.statistics
    return Size(
      logical: Int(clamping: statistics.logicalBytes),
      physical: Int(clamping: statistics.allocatedBytes))
  }

  private static func failure(_ error: TransportError, _ directory: URL) -> StoreError {
    guard error.code == .invalidSetup else {
      return StoreError(
        .inputOutput, path: directory.path,
        cause: "the transport cannot be started (\(error.detail))",
        remedy: "check the limits on threads and files of this process")
    }
    return StoreError(
      .invalidNetworkOptions, path: directory.path,
      cause: "the network options of the cache cannot be used: \(error.detail)",
      remedy: "change that in `options.network`")
  }

  private static func limit(_ capacity: Int, _ directory: URL) throws(StoreError) -> UInt64 {
    guard capacity > 0 else {
      throw StoreError(
        .invalidLimits, path: directory.path,
        cause: "a capacity of \(capacity) bytes leaves no room for anything",
        remedy: "give it some megabytes")
    }
    return UInt64(capacity)
  }

  private func makeSizeTask() -> Task<Void, Never> {
    // Before the events, so that no change after it is missed.
    let before = size
    // At most one event waits. It may have replaced any other event, so every kind counts, even
    // hits.
    let events = store.events(bufferingNewest: 1)
    return Task { [weak self] in
      var last = before
      for await _ in events {
        guard let self, let delegate = self.delegate else { return }
        let size = self.size
        guard size != last else { continue }
        last = size
        await delegate.offlineCache(self, didChangeSize: size)
      }
    }
  }
}

extension StoreError.Code {
  /// The network options of an ``OfflineCache`` cannot be used; the store was not opened.
  public static let invalidNetworkOptions = StoreError.Code(rawValue: "invalidNetworkOptions")
  /// A file of an ``OfflineCache`` cannot get the data protection class of the options (Apple
  /// platforms).
  public static let fileProtectionFailed = StoreError.Code(rawValue: "fileProtectionFailed")
}
