package import CacheFormat
internal import CacheSystem
internal import Synchronization

// The present `entries` directory, and its shards. `removeAll` puts another directory in its place.
extension Catalog {
  /// Runs `body` while the shard of a key in the present `entries` directory is locked.
  package func withShard<R>(
    of hash: KeyHash, _ body: (borrowing Shard) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try tree.withLocked(try lockShard(of: hash), body)
  }

  private func lockShard(of hash: KeyHash) throws(StoreError) -> Shard {
    while true {
      let entries = try state.withLock { state throws(StoreError) in
        follow(&state)
        if state.isClosed { throw state.refusal ?? .closed(path) }
        return state.entries
      }
      do throws(StoreError) {
        return try tree.lockShard(of: hash, in: entries)
      } catch {
        if !isRemoval(error, of: entries) { throw error }
      }
    }
  }

  /// Tells whether an error is the consequence of a removal of all entries, and of their directory, by
  /// somebody else.
  func isRemoval(_ error: StoreError, of entries: EntriesDirectory) -> Bool {
    if isOutdated(entries) { return true }
    guard error.code == .notFound else { return false }
    // The journal may not have the removal yet while the lock is waited for.
    return (try? confirmEntries()) == false || isOutdated(entries)
  }

  /// Makes sure that the `entries` directory that is open is the one that stands there: it may have
  /// been out of reach when the journal said that all entries are gone.
  ///
  /// - Returns: whether it was; otherwise the other one is open now.
  @discardableResult
  package func confirmEntries() throws(StoreError) -> Bool {
    // Under the lock, because `removeAll` moves the directory before it appends its record.
    try journal.withLock { () throws(StoreError) in
      state.withLock { state in
        follow(&state)
        guard let present = try? fileSystem.status(at: Layout.entries, in: place.root.raw),
          let open = try? fileSystem.status(of: state.entries.directory.raw),
          present.fileNumber != open.fileNumber
        else { return true }
        reopenEntries(&state)
        return false
      }
    }
  }

  /// Tells whether all entries were removed since `entries` was the present directory.
  package func isOutdated(_ entries: EntriesDirectory) -> Bool {
    state.withLock { state in
      follow(&state)
      return state.entries !== entries
    }
  }

  /// The session of this process, made when something is first written.
  package func ownSession() throws(StoreError) -> Session {
    if let session = tree.staging.session { return session }
    if isReadOnly { throw .readOnly(path) }
    return try journal.withLock { () throws(StoreError) -> Session in
      if let session = tree.staging.session { return session }
      // A session that begins after the store is closed would never end.
      try state.withLock { state throws(StoreError) in
        if state.isClosed { throw state.refusal ?? .closed(path) }
      }
      return try tree.staging.makeSession()
    }
  }
}
