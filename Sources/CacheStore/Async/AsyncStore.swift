public import CacheFormat
internal import CacheSystem

/// The async interface of a store: its most common calls, and any others by ``perform(_:)``, run on
/// threads of its own.
///
/// The cancellation of a task does not interrupt a call that has begun.
public final class AsyncStore: Sendable {
  /// The store. Its own methods may be called as well.
  public let store: Store
  private let pool: WorkerPool

  /// Creates the async interface of an open store.
  ///
  /// - Parameters:
  ///   - store: The store; its own methods may be called as well.
  ///   - threads: The number of threads that work at the same time.
  public init(_ store: Store, threads: Int = 4) {
    self.store = store
    pool = WorkerPool(threads: threads)
  }

  /// Opens the store at `path`, or makes one; see `Store.init`.
  public static func open(
    at path: String, options: Options = Options(), threads: Int = 4
  ) async throws(StoreError) -> AsyncStore {
    let pool = WorkerPool(threads: 1)
    let store = try await pool.call { () throws(StoreError) in
      try Store(at: path, options: options)
    }
    return AsyncStore(store, threads: threads)
  }

  /// Runs a closure with the store on one of the threads.
  public func perform<R: Sendable, E: Error>(
    _ body: @escaping @Sendable (Store) throws(E) -> R
  ) async throws(E) -> R {
    let store = store
    return try await pool.call { () throws(E) in try body(store) }
  }

  /// Starts a task that may call the store itself, without ``perform(_:)``, once it has been
  /// suspended: from then on it runs on the threads of the store.
  @discardableResult
  package func start(
    _ work: @escaping @Sendable @concurrent () async -> Void
  ) -> Task<Void, Never> { pool.start(work) }

  /// Stores a body; see `Store.put`.
  @discardableResult
  public func put(
    _ body: [UInt8], for key: ByteString, variant: UInt64 = 0,
    metadata: EntryMetadata = EntryMetadata()
  ) async throws(StoreError) -> EntryInfo {
    try await perform { store throws(StoreError) in
      try store.put(body, for: key, variant: variant, metadata: metadata)
    }
  }

  /// Releases the lock of this process until the next write; see `Store.relinquish`.
  ///
  /// - Returns: whether the lock is released.
  @discardableResult
  public func relinquish() async -> Bool { await perform { $0.relinquish() } }

  /// Finds an entry; see `Store.lookUp`.
  public func lookUp(_ key: ByteString, variant: UInt64 = 0) async -> Lookup {
    await perform { $0.lookUp(key, variant: variant) }
  }

  /// Opens a body for reading; see `Store.read`.
  public func read(_ key: ByteString, variant: UInt64 = 0) async -> BodyLookup {
    await perform { $0.read(key, variant: variant) }
  }

  /// Returns key, times and metadata of an entry; see `Store.info`.
  public func info(for key: ByteString, variant: UInt64 = 0) async -> EntryInfo? {
    await perform { $0.info(for: key, variant: variant) }
  }

  /// Begins to write a body piece by piece; see `Store.makeWriter`.
  public func makeWriter(
    for key: ByteString, variant: UInt64 = 0, metadata: EntryMetadata = EntryMetadata(),
    length: UInt64? = nil
  ) async throws(StoreError) -> BodyWriter {
    try await perform { store throws(StoreError) in
      try store.makeWriter(for: key, variant: variant, metadata: metadata, length: length)
    }
  }

  /// Removes an entry; see `Store.remove`.
  @discardableResult
  public func remove(
    _ key: ByteString, variant: UInt64? = nil
  ) async throws(StoreError) -> Int {
    try await perform { store throws(StoreError) in try store.remove(key, variant: variant) }
  }

  /// Removes all entries; see `Store.removeAll`.
  public func removeAll() async throws(StoreError) {
    try await perform { store throws(StoreError) in try store.removeAll() }
  }

  /// Closes the store; see `Store.close`.
  public func close() async { await perform { $0.close() } }
}
