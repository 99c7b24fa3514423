internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The search for the remains of processes that are gone: their sessions, and incomplete files.
enum StagingCheck {
  /// Returns the sessions of processes that are gone. The caller holds the lock of the journal, so
  /// that none is just being made.
  static func sessions(
    in staging: borrowing Descriptor, _ fileSystem: any FileSystem
  ) -> [Suspicion] {
    var names: [PathName] = []
    try? fileSystem.list(staging.raw) { name, kind in
      if kind == .directory && Layout.isSession(name) { names.append(name) }
      return names.count < CheckLimits.segments
    }
    var found: [Suspicion] = []
    for name in names where isDead(name, in: staging.raw, fileSystem) {
      found.append(
        Suspicion(
          kind: .stagingLeft, path: Array("staging/".utf8) + name.bytes, name: name,
          detail: "the process that made it is gone"))
    }
    return found
  }

  private static func isDead(
    _ name: PathName, in staging: Int32, _ fileSystem: any FileSystem
  ) -> Bool {
    guard let session = try? fileSystem.open(name, in: staging, [.read, .directory]),
      (try? fileSystem.tryLock(session)) == true
    else { return false }
    fileSystem.unlock(session.raw)
    return true
  }

  /// Returns the incomplete files under temporary names. The caller holds the lock of the journal.
  static func unfinished(in root: Int32, _ fileSystem: any FileSystem) -> [Suspicion] {
    var path = Layout.journal
    path.append("/new")
    return [Layout.newDescription, path].filter {
      (try? fileSystem.status(at: $0, in: root)) != nil
    }.map {
      Suspicion(kind: .stagingLeft, path: $0.bytes, name: $0, detail: "it was being written")
    }
  }
}
