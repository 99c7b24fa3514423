/// Checks one store, and repairs it where that was asked for.
///
/// Other processes may use the store meanwhile: what looks wrong is looked at again under the lock of
/// its shard, or of the journal, before it counts, and is repaired under the same lock.
public final class StoreChecker: Sendable {
  let path: String
  let options: CheckOptions
  let cancellation = Cancellation()

  /// Creates a checker; nothing is read yet.
  public init(at path: String, options: CheckOptions = CheckOptions()) {
    self.path = path
    self.options = options
  }

  /// Goes through the store: once, or with a repair until one more pass finds nothing new.
  ///
  /// - Throws: ``CheckError``, also `cancelled`; what was repaired until then stays.
  /// - Complexity: O(files) and, where bodies are read, O(bytes). Memory: about 130 bytes an entry; a deep
  ///   repair remembers the digests of up to 262,144 files, 64 bytes each.
  public func run(_ observer: some CheckObserver) throws(CheckError) -> CheckReport {
    if options.repair != nil { return try RepairRun(checker: self, observer: observer).perform() }
    return try CheckRun(self, options, observer, HashedFiles(keepsAll: false)).perform()
  }

  /// Makes `run` end with `cancelled` soon; from any thread.
  public func cancel() { cancellation.set() }
}
