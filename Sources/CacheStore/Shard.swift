package import CacheFormat
package import CacheSystem
internal import Synchronization

/// One of the 256 directories of keys, locked: whoever changes files of a key holds its shard.
///
/// The lock is that of the directory itself (flock), taken on a descriptor of its own each time, so
/// it excludes threads and processes alike, and goes away with the descriptor.
package struct Shard: ~Copyable {
  package let directory: Descriptor
  package let entries: EntriesDirectory
  let fileSystem: any FileSystem

  /// Releases the lock. Every holder says so at its end (`defer`): a value of this kind may
  /// otherwise end with its last use, in the middle of what it is to protect.
  package func unlock() { fileSystem.unlock(directory.raw) }
}

extension Store {
  /// Locks the shard of a key, made where it is missing.
  func lockShard(_ hash: KeyHash, _ entries: EntriesDirectory) throws(StoreError) -> Shard {
    let name = Layout.shard(Layout.shardNumber(of: hash))
    return try system("\(path)/entries/\(name.text)") { () throws(SystemError) in
      let directory = try openOrMake(name, in: entries.directory)
      try fileSystem.lock(directory)
      return Shard(directory: directory, entries: entries, fileSystem: fileSystem)
    }
  }

  /// Locks the shard of a key in the present `entries` directory.
  package func lockShard(_ hash: KeyHash) throws(StoreError) -> Shard {
    while true {
      let entries = try state.withLock { state throws(StoreError) in
        follow(&state)
        if state.isClosed { throw state.refusal ?? .closed(path) }
        return state.entries
      }
      do throws(StoreError) {
        return try lockShard(hash, entries)
      } catch {
        if !isRemoval(error, of: entries) { throw error }
      }
    }
  }

  /// Whether an error comes from another one's removal of all entries, and of their directory.
  func isRemoval(_ error: StoreError, of entries: EntriesDirectory) -> Bool {
    if isOutdated(entries) { return true }
    guard error.code == .notFound else { return false }
    // The next removal may be heard of while the lock is waited for.
    return (try? confirmEntries()) == false || isOutdated(entries)
  }

  /// Makes sure that the `entries` directory that is open is the one that stands there: it may have
  /// been out of reach when the journal said that all entries are gone.
  ///
  /// - Returns: whether it was; otherwise the other one is open now.
  @discardableResult
  package func confirmEntries() throws(StoreError) -> Bool {
    // Under the lock, because `removeAll` moves the directory before it tells the journal.
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

  /// Whether all entries were removed since `entries` was the present directory.
  package func isOutdated(_ entries: EntriesDirectory) -> Bool {
    state.withLock { state in
      follow(&state)
      return state.entries !== entries
    }
  }

  /// Opens a shard, making it where it is missing. What else stands in its place goes to the
  /// quarantine.
  func openOrMake(
    _ name: PathName, in parent: borrowing Descriptor
  ) throws(SystemError) -> Descriptor {
    do throws(SystemError) {
      return try fileSystem.open(name, in: parent, [.read, .directory])
    } catch  where error == .notFound || error.isWrongKind {
      if error.isWrongKind { clearPlace(of: name, in: parent.raw) }
      do throws(SystemError) {
        try fileSystem.makeDirectory(name, in: parent.raw, mode: StorePlace.directoryMode)
      } catch  where error == .exists {}
      return try fileSystem.open(name, in: parent, [.read, .directory])
    }
  }

  /// Moves away what is no directory. Under the lock of the journal, so that nobody moves the
  /// directory that another one has just made in its place.
  private func clearPlace(of name: PathName, in parent: Int32) {
    _ = try? journal.withLock { () throws(StoreError) in
      guard let status = try? fileSystem.status(at: name, in: parent), status.kind != .directory
      else { return }
      try? StrayQuarantine(fileSystem, clock).move(
        name, in: parent, of: Layout.entries.bytes, to: place.quarantine)
    }
  }
}
