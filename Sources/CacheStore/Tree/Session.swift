internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// The directory of this process in `staging`, which is locked from its first change to the end of the
/// last: it ends when the store is closed or rests.
///
/// A session whose lock is free belonged to a process that was killed. Its directory is removed
/// after tree and journal were compared.
package final class Session: Sendable {
  let name: PathName
  package let directory: Descriptor
  private let place: StorePlace
  private let nextName = Atomic<UInt64>(0)
  /// Whether the store has given the session up, so that it ends with its last user.
  let isGivenUp = Atomic<Bool>(false)
  /// Whether the directory stays when the session ends: tree and journal are not compared yet.
  let stays = Atomic<Bool>(false)
  /// Whether it stays with the sign that nobody was killed.
  let isClosed = Atomic<Bool>(false)
  private let counts: SessionCounts

  init(
    name: PathName, directory: consuming Descriptor, in place: StorePlace, _ counts: SessionCounts
  ) {
    self.name = name
    self.directory = directory
    self.place = place
    self.counts = counts
    counts.locks.add(1, ordering: .relaxed)
  }

  deinit {
    if isGivenUp.load(ordering: .acquiring) { removeDirectory() }
    // The descriptor is closed only after this body.
    place.fileSystem.unlock(directory.raw)
    counts.locks.subtract(1, ordering: .releasing)
  }

  /// Removes the directory. A missing directory is the sign of a clean end.
  func removeDirectory() {
    place.fileSystem.removeTree(directory)
    if counts.hasLeftovers { return }
    if isClosed.load(ordering: .relaxed) {
      try? place.fileSystem.writeNew(Staging.closed, in: directory, [])
    }
    if stays.load(ordering: .relaxed) { return }
    try? place.fileSystem.removeDirectory(name, in: place.staging.raw)
  }

  /// Returns a name that no file in the directory has.
  package func unusedName() -> PathName {
    var name = PathName()
    name.appendHex(unusedNumber(), digits: 16)
    return name
  }

  /// Returns a number that no name in the directory has.
  func unusedNumber() -> UInt64 { nextName.add(1, ordering: .relaxed).newValue }
}

/// What the sessions of this process have in common.
final class SessionCounts: Sendable {
  /// The number of those that have not ended, each with its lock.
  let locks = Atomic<Int>(0)
  /// What they leave to a comparison of tree and journal: files that could not be removed, the records of a
  /// failed sync. If none is completed after that, their directories stay, so that the next opening compares.
  let leftovers = Atomic<Int>(0)
  /// The leftovers before the last comparison that was completed.
  let compared = Atomic<Int>(0)

  var hasLeftovers: Bool {
    leftovers.load(ordering: .relaxed) > compared.load(ordering: .relaxed)
  }
}
