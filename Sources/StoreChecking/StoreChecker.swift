/// A checker of one store, which also repairs it if the options demand it.
///
/// Other processes may use the store meanwhile. What looks wrong is examined again under the lock
/// of its shard, or of the journal, before it is reported, and is repaired under the same lock.
public final class StoreChecker: Sendable {
  let path: String
  let options: CheckOptions
  let cancellation = Flag()

  /// Creates a checker; nothing is read yet.
  public init(at path: String, options: CheckOptions = CheckOptions()) {
    self.path = path
    self.options = options
  }

  /// Checks the store. A repair goes through it again until a pass repairs nothing.
  ///
  /// - Throws: ``CheckError``, also `cancelled`. Repairs that were made before stay.
  /// - Complexity: O(files), and O(bytes) if bodies are read. Memory: about 140 bytes for each
  ///   entry; a deep repair keeps the digests of up to 262,144 files, 64 bytes each.
  public func run(_ observer: some CheckObserver) throws(CheckError) -> CheckReport {
    if options.repair != nil { return try RepairRun(checker: self, observer: observer).perform() }
    let hashed = HashedFiles(keepsAll: false)
    return try CheckRun(self, options, CheckPass(), observer, hashed).perform()
  }

  /// Makes `run` end soon with `cancelled`. May be called on any thread.
  public func cancel() { cancellation.set() }
}
