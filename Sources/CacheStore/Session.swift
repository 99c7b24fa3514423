internal import CacheFormat
package import CacheSystem
internal import Synchronization

/// This process's own directory below `staging`, locked as long as it lives.
///
/// It is also what tells an unclean shutdown: a directory whose lock is free belonged to a process
/// that is gone, and what that process was doing is put right before the directory is removed.
package final class Session: Sendable {
  let name: PathName
  package let directory: Descriptor
  private let nextName = Atomic<UInt64>(0)

  init(name: PathName, directory: consuming Descriptor) {
    self.name = name
    self.directory = directory
  }

  /// A name that nothing in the directory has.
  package func unusedName() -> PathName {
    var name = PathName()
    name.appendHex(nextName.add(1, ordering: .relaxed).newValue, digits: 16)
    return name
  }
}

/// Makes the session when something is first written.
final class SessionBox: Sendable {
  let session = Mutex<Session?>(nil)
  /// Whether something was left undone, so that the next opening has to compare tree and journal.
  let isUnclean = Atomic<Bool>(false)
}

extension Store {
  /// The session, made when it is first asked for.
  package func ownSession() throws(StoreError) -> Session {
    if let session = session.session.withLock({ $0 }) { return session }
    if isReadOnly { throw .readOnly(path) }
    // Under the lock of the journal, so that nobody takes the new directory for a dead one before
    // it is locked.
    return try journal.withLock { () throws(StoreError) -> Session in
      if let session = session.session.withLock({ $0 }) { return session }
      // Nobody would end a session that begins after the end.
      try state.withLock { state throws(StoreError) in
        if state.isClosed { throw state.refusal ?? .closed(path) }
      }
      let made = try makeSession()
      session.session.withLock { $0 = made }
      return made
    }
  }

  private func makeSession() throws(StoreError) -> Session {
    var name = PathName()
    name.appendHex(.random(in: .min ... .max), digits: 16)
    return try system("\(path)/staging/\(name.text)") { () throws(SystemError) in
      try fileSystem.makeDirectory(
        name, in: place.staging.raw, mode: StorePlace.directoryMode)
      let directory = try fileSystem.open(name, in: place.staging, [.read, .directory])
      guard try fileSystem.tryLock(directory) else { throw .wouldBlock }
      if durability == .full { try fileSystem.synchronize(place.staging, names: true) }
      return Session(name: name, directory: directory)
    }
  }

  /// Removes the session's directory: the sign of a clean end.
  func endSession() {
    guard let ended = session.session.withLock({ $0.take() }) else { return }
    removeTree(ended.directory, depth: 0)
    if session.isUnclean.load(ordering: .relaxed) { return }
    try? fileSystem.removeDirectory(ended.name, in: place.staging.raw)
  }

  /// Removes a file of a key that nothing needs any more. Where that cannot be done, the next opening
  /// compares tree and journal.
  func discard(_ name: PathName, in directory: Int32) {
    do throws(SystemError) {
      try fileSystem.removeFile(name, in: directory)
    } catch { noteLeftover(error) }
  }

  /// As `discard`, of a directory that should be empty; one with foreign files in it stays.
  func discardDirectory(_ name: PathName, in directory: Int32) {
    do throws(SystemError) {
      try fileSystem.removeDirectory(name, in: directory)
    } catch { noteLeftover(error) }
  }

  /// Notes that something of a key may have been left that the journal does not know.
  func noteLeftover(_ error: SystemError) {
    if error == .notFound || error == .notEmpty { return }
    session.isUnclean.store(true, ordering: .relaxed)
  }

  /// Whether another process that writes has the store open. The caller holds the journal's lock.
  func hasLiveSessions() throws(StoreError) -> Bool {
    try sessions { directory in
      ((try? fileSystem.tryLock(directory)) ?? true) == false
    }.isEmpty == false
  }

  /// The names below `staging` of processes that are gone. The caller holds the journal's lock.
  func deadSessions() throws(StoreError) -> [PathName] {
    try sessions { (try? fileSystem.tryLock($0)) ?? false }
  }

  /// The names below `staging` of other processes' sessions that are as `isWanted` says.
  private func sessions(
    where isWanted: (borrowing Descriptor) -> Bool
  ) throws(StoreError) -> [PathName] {
    var names: [PathName] = []
    try system("\(path)/staging") { () throws(SystemError) in
      try fileSystem.list(place.staging.raw) { name, kind in
        if kind == .directory && Layout.isSession(name) { names.append(name) }
        return true
      }
    }
    let own = session.session.withLock { $0?.name.bytes }
    return names.filter { name in
      guard name.bytes != own,
        let directory = try? fileSystem.open(name, in: place.staging, [.read, .directory])
      else { return false }
      return isWanted(directory)
    }
  }

  /// Empties a directory. What cannot be removed stays.
  ///
  /// - Parameter depth: how deep the directory lies; beyond 8 levels nothing is ours.
  func removeTree(_ directory: borrowing Descriptor, depth: Int) {
    guard depth < 8 else { return }
    var names: [(PathName, FileKind)] = []
    repeat {
      names = []
      try? fileSystem.list(directory.raw) { name, kind in
        names.append((name, kind))
        return names.count < 1024
      }
      var removed = 0
      for (name, kind) in names where remove(name, kind, in: directory, depth) { removed += 1 }
      if removed == 0 { return }
    } while names.count == 1024
  }

  private func remove(
    _ name: PathName, _ kind: FileKind, in directory: borrowing Descriptor, _ depth: Int
  ) -> Bool {
    guard kind == .directory else {
      return (try? fileSystem.removeFile(name, in: directory.raw)) != nil
    }
    if let inner = try? fileSystem.open(name, in: directory, [.read, .directory]) {
      removeTree(inner, depth: depth + 1)
    }
    return (try? fileSystem.removeDirectory(name, in: directory.raw)) != nil
  }
}

extension StoreError {
  static func readOnly(_ path: String) -> StoreError {
    StoreError(
      .readOnly, path: path, cause: "the store was opened for reading only",
      remedy: "open it without that option")
  }
}
