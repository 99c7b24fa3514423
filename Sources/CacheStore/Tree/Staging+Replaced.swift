internal import CacheFormat
internal import CacheSystem
internal import Synchronization

// Directories of keys whose entry was replaced by one in the log. They are moved into the session,
// and deleted before the next entries are settled. Moving a directory takes a small part of the
// time in which its files are removed, because no blocks are freed.
extension Staging {
  /// The most directories that wait to be deleted. It bounds the time in which a store is closed.
  private static var maximumReplaced: Int { 8_192 }
  private static var listedAtOnce: Int { 64 }

  /// Moves the directory of a key into the session of this process. The caller holds the shard.
  ///
  /// - Returns: false if it was not moved.
  func takeReplaced(_ hash: KeyHash, in shard: borrowing Shard) -> Bool {
    guard let session, replaced.load(ordering: .relaxed) < Self.maximumReplaced
    else { return false }
    do throws(SystemError) {
      try fileSystem.rename(
        Layout.key(hash), in: shard.directory.raw,
        to: Layout.replaced(hash, session.unusedName()), in: session.directory.raw)
    } catch { return false }
    replaced.add(1, ordering: .relaxed)
    return true
  }

  /// Deletes the directories that were moved into the session of this process.
  ///
  /// - Parameter deadline: the time by the monotonic clock at which the call returns. It deletes
  ///   one directory at least.
  /// - Returns: false if the time was over.
  @discardableResult
  func sweepReplaced(until deadline: Int64 = .max) -> Bool {
    let count = replaced.load(ordering: .relaxed)
    guard count > 0, let session else { return true }
    var removed = 0
    let isDone = removeReplaced(in: session.directory) {
      removed += 1
      return monotonicNanoseconds() < deadline
    }
    // Those that cannot be deleted now are deleted with the session.
    replaced.subtract(isDone ? count : min(removed, count), ordering: .relaxed)
    return isDone
  }

  /// Deletes the directories of replaced keys in a session.
  ///
  /// - Parameter goesOn: called after each of them. If it returns false, the others stay.
  /// - Returns: false if `goesOn` has ended it.
  @discardableResult
  func removeReplaced(
    in session: borrowing Descriptor, while goesOn: () -> Bool = { true }
  ) -> Bool {
    while true {
      var names: [PathName] = []
      try? fileSystem.list(session.raw) { name, kind in
        if kind == .directory, Layout.isReplaced(name) { names.append(name) }
        return names.count < Self.listedAtOnce
      }
      var isAnyGone = false
      for name in names where removeReplaced(name, in: session) {
        isAnyGone = true
        if !goesOn() { return false }
      }
      if !isAnyGone { return true }
    }
  }

  /// Deletes one directory. If it also has files that the store has not made, it is moved to the
  /// quarantine.
  private func removeReplaced(_ name: PathName, in session: borrowing Descriptor) -> Bool {
    guard let directory = try? fileSystem.open(name, in: session, [.read, .directory])
    else { return false }
    do throws(SystemError) {
      var files: [PathName] = []
      var isMixed = false
      try fileSystem.list(directory.raw) { file, _ in
        if Layout.keyFile(file) == .foreign { isMixed = true } else { files.append(file) }
        return true
      }
      for file in files { try fileSystem.removeFile(file, in: directory.raw) }
      if isMixed {
        try StrayQuarantine(fileSystem, clock).move(
          name, in: session.raw, of: Layout.entries.bytes, to: place.quarantine)
      } else {
        try fileSystem.removeDirectory(name, in: session.raw)
      }
    } catch { return false }
    return true
  }
}
