package import CacheFormat
package import CacheSystem
internal import Synchronization

/// One of the 256 directories of keys, while it is locked. Only the holder of the lock changes the
/// files of its keys.
///
/// The lock is an flock(2) of the directory, each time on a descriptor of its own. So it excludes
/// threads and processes alike, and is released with the descriptor.
package struct Shard: ~Copyable {
  package let directory: Descriptor
  package let entries: EntriesDirectory
}

extension Tree {
  /// Runs `body` while the shard of a key is locked. A missing shard is made.
  func withShard<R>(
    of hash: KeyHash, in entries: EntriesDirectory,
    _ body: (borrowing Shard) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try withLocked(try lockShard(of: hash, in: entries), body)
  }

  /// Opens and locks the shard of a key, which is made if it is missing. The lock is released with
  /// the descriptor.
  func lockShard(
    of hash: KeyHash, in entries: EntriesDirectory
  ) throws(StoreError) -> Shard {
    let name = Layout.shard(Layout.shardNumber(of: hash))
    return try system("\(path)/entries/\(name.text)") { () throws(SystemError) in
      let directory = try openOrMake(name, in: entries.directory)
      try fileSystem.lock(directory)
      return Shard(directory: directory, entries: entries)
    }
  }

  /// Runs `body` with a locked shard, and unlocks it. The unlocking is explicit, because a
  /// noncopyable value may end with its last use, which is too early here.
  func withLocked<R>(
    _ shard: consuming Shard, _ body: (borrowing Shard) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let raw = shard.directory.raw
    defer { fileSystem.unlock(raw) }
    #if DEBUG
      let outer = LockOrder.shard.enter()
      defer { LockOrder.leave(to: outer) }
    #endif
    return try body(shard)
  }

  /// Runs `body` while the shard of a key is locked. Returns `nil` without a wait if somebody else
  /// holds the lock.
  package func tryWithShard<R>(
    of hash: KeyHash, in entries: EntriesDirectory,
    _ body: (borrowing Shard) throws(StoreError) -> R
  ) throws(StoreError) -> R? {
    let name = Layout.shard(Layout.shardNumber(of: hash))
    let shard = try system("\(path)/entries/\(name.text)") { () throws(SystemError) -> Shard? in
      let directory = try openOrMake(name, in: entries.directory)
      guard try fileSystem.tryLock(directory) else { return nil }
      return Shard(directory: directory, entries: entries)
    }
    guard let shard else { return nil }
    // Another shard may be locked already, as this one is not waited for.
    let raw = shard.directory.raw
    defer { fileSystem.unlock(raw) }
    return try body(shard)
  }

  /// Opens a shard, and makes it if it is missing. A file or link in its place is moved to the
  /// quarantine.
  private func openOrMake(
    _ name: PathName, in parent: borrowing Descriptor
  ) throws(SystemError) -> Descriptor {
    do throws(SystemError) {
      return try fileSystem.open(name, in: parent, [.read, .directory])
    } catch  where error == .notFound || error.isWrongKind {
      if error.isWrongKind { clearPlace(of: name, in: parent.raw) }
      try StorePlace.makeDirectory(name, parent, fileSystem)
      return try fileSystem.open(name, in: parent, [.read, .directory])
    }
  }

  /// Moves a file or link in the place of a shard to the quarantine. Takes the lock of the journal,
  /// so that no process moves the directory that another one has just made in its place.
  private func clearPlace(of name: PathName, in parent: Int32) {
    _ = try? journal.withLock { () throws(StoreError) in
      guard let status = try? fileSystem.status(at: name, in: parent), status.kind != .directory
      else { return }
      try? StrayQuarantine(fileSystem, clock).move(
        name, in: parent, of: Layout.entries.bytes, to: place.quarantine)
    }
  }
}

extension FileSystem {
  /// Runs `body` while a shard is locked. A missing shard is not made.
  package func withShard<R>(
    _ number: Int, in entries: EntriesDirectory, _ body: (borrowing Shard) -> R
  ) throws(SystemError) -> R {
    let directory = try open(Layout.shard(number), in: entries.directory, [.read, .directory])
    try lock(directory)
    let raw = directory.raw
    defer { unlock(raw) }
    return body(Shard(directory: directory, entries: entries))
  }
}
