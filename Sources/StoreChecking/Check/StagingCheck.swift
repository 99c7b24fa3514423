internal import CacheFormat
internal import CacheStore
internal import CacheSystem

/// The search for the remains of processes that are gone: their sessions, and incomplete files.
enum StagingCheck {
  struct Result {
    /// The sessions of processes that are gone, or the reason for which they are not known.
    var suspicions: [Suspicion] = []
    /// The names of `staging` that are no sessions.
    var foreign: [PathName] = []
  }

  /// Reads the names in `staging`. The caller holds the lock of the journal, so that no session is
  /// just being made.
  static func read(_ root: borrowing Descriptor, _ fileSystem: any FileSystem) -> Result {
    var result = Result()
    do throws(SystemError) {
      let staging = try fileSystem.open(Layout.staging, in: root, [.read, .directory])
      for (name, kind) in try fileSystem.names(in: staging.raw) {
        if kind != .directory || !Layout.isSession(name) {
          result.foreign.append(name)
          continue
        }
        let path = Array("staging/".utf8) + name.bytes
        do throws(SystemError) {
          if try !isDead(name, in: staging.raw, fileSystem) { continue }
          result.suspicions.append(
            Suspicion(
              kind: .stagingLeft, path: path, name: name,
              detail: "the process that made it is gone"))
        } catch {
          result.suspicions.append(
            Suspicion(kind: .unreadable, path: path, name: name, detail: error.description))
        }
      }
    } catch  where error.isOfPlace {} catch {
      result.suspicions.append(
        Suspicion(kind: .unreadable, path: Layout.staging.bytes, detail: error.description))
    }
    return result
  }

  private static func isDead(
    _ name: PathName, in staging: Int32, _ fileSystem: any FileSystem
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      let session = try fileSystem.open(name, in: staging, [.read, .directory])
      guard (try? fileSystem.tryLock(session)) == true else { return false }
      fileSystem.unlock(session.raw)
      return true
    } catch  where error == .notFound || error.isWrongKind { return false }
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
