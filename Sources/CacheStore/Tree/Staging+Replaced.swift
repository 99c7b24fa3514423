internal import CacheFormat
internal import CacheSystem
internal import Synchronization

/// The directories of replaced keys in the session of this process.
struct ReplacedKeys {
  /// The numbers in the names of the directories of each key.
  private var numbers: [KeyHash: [UInt64]] = [:]
  /// The same for those that could not be deleted.
  private var failed: [KeyHash: [UInt64]] = [:]
  private(set) var count = 0

  /// Whether there are some that were not tried yet.
  var hasUntried: Bool { !numbers.isEmpty }

  mutating func insert(_ hash: KeyHash, _ number: UInt64) {
    numbers[hash, default: []].append(number)
    count += 1
  }

  /// Notes directories that could not be deleted.
  mutating func putBack(_ hash: KeyHash, _ left: [UInt64]) {
    failed[hash, default: []] += left
    count += left.count
  }

  /// Lets those that could not be deleted be tried once more, after the others.
  mutating func tryFailedAgain() {
    if numbers.isEmpty { swap(&numbers, &failed) }
  }

  /// Takes the directories of a key out.
  mutating func take(_ hash: KeyHash) -> [UInt64] {
    if count == 0 { return [] }
    let taken = (numbers.removeValue(forKey: hash) ?? []) + (failed.removeValue(forKey: hash) ?? [])
    count -= taken.count
    return taken
  }

  /// Takes the directories out of some key that were not tried yet; `nil` if there are none.
  mutating func takeFirst() -> (hash: KeyHash, numbers: [UInt64])? {
    guard let (hash, taken) = numbers.first else { return nil }
    numbers[hash] = nil
    count -= taken.count
    return (hash, taken)
  }
}

// Directories of keys whose entry was replaced by one in the log. They are moved into the session,
// and deleted before the next entries are settled. Moving a directory takes a small part of the
// time in which its files are removed, because no blocks are freed.
//
// The entry in the log is counted for the limits and does not take its bytes yet, so the directory
// may take them. It is deleted at once when that entry is removed, or replaced by one that is counted
// with less or has files. Another process that does so leaves the directory to this one, which
// deletes it when it settles next.
extension Staging {
  /// The most directories that wait to be deleted. It bounds the time in which a store is closed.
  private static var maximumReplaced: Int { 8_192 }
  private static var listedAtOnce: Int { 64 }

  /// Moves the directory of a key into the session of this process. The caller holds the shard.
  ///
  /// - Returns: false if it was not moved.
  func takeReplaced(_ hash: KeyHash, in shard: borrowing Shard) -> Bool {
    guard let session, replaced.withLock({ $0.count }) < Self.maximumReplaced
    else { return false }
    let number = session.unusedNumber()
    do throws(SystemError) {
      try fileSystem.rename(
        Layout.key(hash), in: shard.directory.raw,
        to: Layout.replaced(hash, number), in: session.directory.raw)
    } catch { return false }
    replaced.withLock { $0.insert(hash, number) }
    return true
  }

  /// Deletes the directories of a key that were moved into the session of this process.
  func deleteReplaced(_ hash: KeyHash) { delete(replaced.withLock { $0.take(hash) }, hash) }

  /// Whether directories wait for their deletion.
  var hasReplaced: Bool { replaced.withLock { $0.count > 0 } }

  /// Deletes the directories that were moved into the session of this process, each once.
  ///
  /// - Parameter deadline: the time by the monotonic clock at which the call returns. It deletes
  ///   those of one key at least. Without one, what could not be deleted before is tried again if
  ///   nothing else is left.
  /// - Returns: false if the time was over.
  @discardableResult
  func sweepReplaced(until deadline: Int64 = .max) -> Bool {
    if deadline == .max { replaced.withLock { $0.tryFailedAgain() } }
    while let (hash, numbers) = replaced.withLock({ $0.takeFirst() }) {
      delete(numbers, hash)
      if monotonicNanoseconds() >= deadline { return replaced.withLock { !$0.hasUntried } }
    }
    return true
  }

  private func delete(_ numbers: [UInt64], _ hash: KeyHash) {
    guard !numbers.isEmpty, let session else { return }
    let left = numbers.filter {
      !removeKeyDirectory(Layout.replaced(hash, $0), in: session.directory)
    }
    if left.isEmpty { return }
    replaced.withLock { $0.putBack(hash, left) }
    hasUnswept.store(true, ordering: .relaxed)
  }

  /// Deletes the directories of replaced keys in the session of a process that is gone.
  func removeReplaced(in session: borrowing Descriptor) {
    while true {
      var names: [PathName] = []
      try? fileSystem.list(session.raw) { name, kind in
        if kind == .directory, Layout.isReplaced(name) { names.append(name) }
        return names.count < Self.listedAtOnce
      }
      var isAnyGone = false
      for name in names where removeKeyDirectory(name, in: session) { isAnyGone = true }
      if !isAnyGone { return }
    }
  }

  /// Deletes a directory with files of a key. If it also has files that the store has not made, it is moved
  /// to the quarantine.
  ///
  /// - Returns: whether it is gone.
  @discardableResult
  func removeKeyDirectory(_ name: PathName, in session: borrowing Descriptor) -> Bool {
    let directory: Descriptor
    do throws(SystemError) {
      directory = try fileSystem.open(name, in: session, [.read, .directory])
    } catch { return error == .notFound }
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
