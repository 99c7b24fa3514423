public import CacheClient
public import CacheStore
import CacheSystem
import CurlHTTP
public import Foundation
import HTTPSemantics
public import HTTPTransports
public import Reachability
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers `URLRequest`s from a persistent store and from the network, by the rules of HTTP.
///
/// What URLSession and URLCache are together, in one object that keeps its promises offline, on Linux
/// too: `data(for:)` and its relatives fetch through the store; `cachedResponse(for:)` and its
/// relatives look after it. Safe to use from any thread and many tasks at once. Several processes may
/// use one directory. Guide: Docs/Foundation.md.
public final class OfflineCache: Sendable {
  /// Counts what is stored, in bytes.
  public struct Size: Sendable, Hashable {
    /// The lengths of all bodies together, each as often as it is stored.
    public var logical: Int
    /// What is allocated on disk: bodies (equal ones once), metadata, directories, the journal. This
    /// is what the capacity is held against, unless there is an ``OfflineCacheOptions/sizeDelegate``.
    public var physical: Int
  }

  /// Gives the client that fetches, for what this face does not have.
  public let client: CachingClient

  /// Downloads files, around the store.
  public let downloader: Downloader

  /// Gives the store behind it.
  public var store: Store { client.store }

  let options: OfflineCacheOptions
  let delegates: DelegateBox
  /// Runs completion handlers, one after the other, as the delegate queue of a URLSession does.
  let handlerQueue = DispatchQueue(label: "OfflineCache.handlers")
  private let mode: Mutex<OfflineMode>
  private let sizeTask = Lock<Task<Void, Never>?>(nil)

  private static let sharedCache = Mutex<OfflineCache?>(nil)

  /// Opens the cache in a directory, or makes one.
  ///
  /// - Parameters:
  ///   - capacity: The most bytes on disk; recorded in the store, for all its users. The least
  ///     recently used responses go first.
  ///   - directory: A directory of its own.
  ///   - options: How the cache works and reaches the network.
  /// - Throws: as `Store.init`, with path, cause and remedy; `invalidLimits` for a capacity of 0 or
  ///   less; `invalidNetworkOptions` for pins of what is no host.
  public convenience init(
    capacity: Int, directory: URL, options: OfflineCacheOptions = OfflineCacheOptions()
  ) throws(StoreError) {
    let transport: CurlTransport
    do throws(TransportError) {
      transport = try CurlTransport(options.network)
    } catch {
      throw Self.failure(error, directory)
    }
    try self.init(
      capacity: capacity, directory: directory, options: options, transport: transport)
  }

  /// Opens the cache with another way to the network than libcurl; see
  /// ``init(capacity:directory:options:)``.
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
    var limits = store.limits
    if limits.bytes != bytes {
      limits.bytes = bytes
      try store.setLimits(limits)
    }
    let delegates = DelegateBox()
    self.options = options
    self.delegates = delegates
    mode = Mutex(options.offlineMode)
    var clientOptions = ClientOptions(
      transport: AskedRequest.defaultTimeouts, rules: options.rules, keyRule: options.keyRule,
      mayReturnStored: { delegates.mayReturn($1, to: $0) }, credentials: options.credentials)
    clientOptions.hotBytes = max(0, options.memoryCapacity)
    clientOptions.memoryOnlyBytes = options.memoryOnlyCapacity
    clientOptions.substitutes = options.substitutes
    clientOptions.fingerprintKey = options.fingerprintKey
    clientOptions.transport.allowsInsecureRedirects = options.allowsInsecureRedirects
    client = CachingClient(
      store: store, transport: transport, options: clientOptions, clock: options.clock)
    downloader = client.makeDownloader(options: options.downloads)
    delegates.cache = self
  }

  deinit {
    if let task = sizeTask.withLock({ $0 }) { callOut { task.cancel() } }
  }

  /// Gives the cache that ``OfflineURLProtocol`` uses, and who else wants it; nil until a program has
  /// set one.
  public static var shared: OfflineCache? {
    get { sharedCache.withLock { $0 } }
    set {
      // The old one closes its store as it goes, which takes a while: not within the lock.
      let old = sharedCache.withLock { shared in
        defer { shared = newValue }
        return shared
      }
      _ = old
    }
  }

  /// Says when stored responses answer in place of the network.
  public var offlineMode: OfflineMode {
    get { mode.withLock { $0 } }
    set { mode.withLock { $0 = newValue } }
  }

  /// Tells whether there is a network; nil where nobody knows.
  public var reachability: (any NetworkReachability)? { options.reachability }

  /// The delegate; held weakly. See ``OfflineCacheDelegate`` for the threads on which it is called.
  public var delegate: (any OfflineCacheDelegate)? {
    get { delegates.delegate }
    set {
      delegates.delegate = newValue
      watchSize(newValue != nil)
    }
  }

  /// Gives the most bytes on disk.
  public var capacity: Int { Int(clamping: store.limits.bytes ?? .max) }

  /// Changes the most bytes on disk, for all users of the store, and evicts what is beyond them.
  ///
  /// - Throws: `invalidLimits` where it is 0 or less, or more is pinned; `readOnly`.
  public func setCapacity(_ capacity: Int) throws(StoreError) {
    var limits = store.limits
    limits.bytes = try Self.limit(capacity, URL(fileURLWithPath: store.path))
    try store.setLimits(limits)
  }

  /// Counts what is stored.
  public var size: Size {
    let statistics = store.statistics
    return Size(
      logical: Int(clamping: statistics.logicalBytes),
      physical: Int(clamping: statistics.allocatedBytes))
  }

  private static func failure(_ error: TransportError, _ directory: URL) -> StoreError {
    guard error.code == .invalidSetup else {
      return StoreError(
        .inputOutput, path: directory.path, cause: "libcurl cannot be started (\(error.detail))",
        remedy: "check the limits on threads and files of this process")
    }
    return StoreError(
      .invalidNetworkOptions, path: directory.path,
      cause: "the network options of the cache cannot be used: \(error.detail)",
      remedy: "name hosts in `pins` without scheme, port and path, such as example.org")
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

  /// Tells the delegate of changes, off the way of those who make them.
  private func watchSize(_ isWanted: Bool) {
    let new = isWanted ? makeSizeTask() : nil
    let old = sizeTask.withLock { task in
      defer { task = new }
      return task
    }
    if let old { callOut { old.cancel() } }
  }

  private func makeSizeTask() -> Task<Void, Never> {
    // One event waits at most, so any may stand for one that was pushed out: hits, too.
    let events = store.events(bufferingNewest: 1)
    return Task { [weak self] in
      var last: Size?
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
}
