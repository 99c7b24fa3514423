package import CacheFormat
internal import CacheSystem
internal import Synchronization

// The present `entries` directory, and its shards. `removeAll` puts another directory in its place.
extension Catalog {
  /// Runs `body` while the shard of a key in the present `entries` directory is locked.
  package func withShard<R>(
    of hash: KeyHash, _ body: (borrowing Shard) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    // If the store is closed or rests meanwhile, the session stays until the files have their names. On a
    // full disk there may be none.
    let session = try? writer.ownSession()
    defer { withExtendedLifetime(session) {} }
    return try tree.withLocked(try lockShard(of: hash), body)
  }

  private func lockShard(of hash: KeyHash) throws(StoreError) -> Shard {
    while true {
      let entries = try reader.withCurrentState { state throws(StoreError) in
        try reader.check(state)
        return state.entries
      }
      do throws(StoreError) {
        return try tree.lockShard(of: hash, in: entries)
      } catch {
        if !isRemoval(error, of: entries) { throw error }
      }
    }
  }

  /// Returns whether an error occurred because somebody else removed all entries, and with them
  /// their directory.
  func isRemoval(_ error: StoreError, of entries: EntriesDirectory) -> Bool {
    if isOutdated(entries) { return true }
    guard error.code == .notFound else { return false }
    // The other process may have moved the directory, and not yet have appended its record.
    _ = try? confirmEntries()
    return isOutdated(entries)
  }

  /// Compares the open `entries` directory with the one in the store, and opens the latter if they
  /// differ. They can differ if the new directory could not be opened when the journal reported
  /// that all entries were removed.
  ///
  /// - Returns: whether they were the same.
  @discardableResult
  package func confirmEntries() throws(StoreError) -> Bool {
    // Under the lock, because `removeAll` moves the directory before it appends its record.
    try journal.withLock { () throws(StoreError) in
      reader.withCurrentState { !reader.reopenMovedEntries(&$0) }
    }
  }

  /// Returns whether all entries were removed since `entries` was the present directory.
  package func isOutdated(_ entries: EntriesDirectory) -> Bool {
    reader.withCurrentState { $0.entries !== entries }
  }
}
