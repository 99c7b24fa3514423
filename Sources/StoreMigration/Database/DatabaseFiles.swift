package import CacheSystem

/// The state of a database and of the files beside it, to detect changes.
package struct DatabaseFiles: Sendable, Equatable {
  package let main: FileStatus
  package let log: FileStatus?
  package let journal: FileStatus?

  var hasLog: Bool { log != nil || journal != nil }
  var hasLoggedPages: Bool { [log, journal].contains { ($0?.length ?? 0) > 0 } }

  init(of source: String) throws(SourceError) {
    guard let main = try Self.status(source) else { throw SourceError(.notFound, source) }
    self.main = main
    log = try Self.sibling(source + "-wal")
    journal = try Self.sibling(source + "-journal")
  }

  /// Returns the status of a file beside the database; `nil` also if its name would be too long.
  private static func sibling(_ path: String) throws(SourceError) -> FileStatus? {
    UserPath.split(path).name.utf8.count > 255 ? nil : try status(path)
  }

  private static func status(_ path: String) throws(SourceError) -> FileStatus? {
    let found: FileStatus
    do throws(SystemError) {
      found = try RealFileSystem().status(userPath: path)
    } catch  where error == .notFound { return nil } catch {
      throw SourceError(reading: path, error)
    }
    guard found.kind == .file else { throw SourceError(.notAFile, path) }
    return found
  }
}
