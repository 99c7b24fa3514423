internal import CacheSystem

/// Checks that source, destination and report do not overlap.
package enum MigrationPlaces {
  /// Throws for a destination that is the source, or is in its folder or above it.
  ///
  /// If the source is a database file, a store may be beside it.
  static func check(source: String, destination: String) throws(MigrationError) {
    guard let from = status(source) else { return }
    let named = source
    let source = resolved(source)
    let place = UserPath.upwards(from: Array(destination.utf8))[0]
    let to = try? RealFileSystem().status(userPath: place).identity
    if to == from.identity || isBeside(destination, source, from) { throw .same(destination) }
    let above = identities(from: destination)
    for path in folders(of: source, from) {
      if let identity = status(path)?.identity, above.contains(identity) {
        throw .destinationInSource(destination, path)
      }
    }
    let folder = from.kind == .directory ? source : UserPath.split(source).folder
    if let to, identities(from: folder).contains(to), isStore(place) {
      throw .sourceInDestination(named, destination)
    }
  }

  /// Throws for a report that would overwrite a part of the source, or is in the destination.
  ///
  /// - Throws: `reportInSource` or `reportInDestination`.
  package static func check(
    report: String, source: String, destination: String
  ) throws(MigrationError) {
    let (own, above) = (status(report)?.identity, identities(from: report))
    let named = source
    let source = resolved(source)
    if let from = status(source) {
      let files = ([""] + endings).compactMap { status(source + $0) }
      let folders = folders(of: source, from).compactMap { status($0) }
      if isBeside(report, source, from) || files.contains(where: { $0.identity == own })
        || folders.contains(where: { above.contains($0.identity) })
      {
        throw .reportInSource(report, named)
      }
    }
    if let to = status(destination), above.contains(to.identity) {
      throw .reportInDestination(report, destination)
    }
  }

  /// The endings of the names of SQLite's files beside a database.
  private static let endings = ["-wal", "-shm", "-journal"]

  /// Returns whether a path is that of such a file, which may be missing: a program that opens the
  /// database would take a new file for its own, and remove it.
  private static func isBeside(_ path: String, _ source: String, _ status: FileStatus) -> Bool {
    if status.kind == .directory { return false }
    let path = UserPath.upwards(from: Array(path.utf8))[0]
    let (place, of) = (UserPath.split(path), UserPath.split(Array(source.utf8)))
    let files = RealFileSystem()
    return endings.contains { place.name == of.name + $0.utf8 }
      && (try? files.status(userPath: place.folder).identity)
        == (try? files.status(userPath: of.folder).identity)
  }

  /// Opening the source reports what keeps a link from being resolved.
  private static func resolved(_ source: String) -> String {
    (try? SourceLocation.resolved(source)) ?? source
  }

  /// Returns the folders of a source: the source itself, or the folders with bodies beside a
  /// database.
  private static func folders(of source: String, _ status: FileStatus) -> [String] {
    if status.kind == .directory { return [source] }
    let (folder, name) = UserPath.split(source)
    return BodyFolder.names(besides: name).map { "\(folder)/\($0)" }
  }

  /// Returns whether a folder is a store. The store itself refuses any other folder above the
  /// source.
  private static func isStore(_ path: [UInt8]) -> Bool {
    (try? RealFileSystem().status(userPath: path + "/store.json".utf8)) != nil
  }

  private static func status(_ path: String) -> FileStatus? {
    try? RealFileSystem().status(userPath: path)
  }

  /// Returns what there is of a path and of the folders above it. Folders are compared by their
  /// identity, because one may be mounted at several places.
  private static func identities(from path: String) -> Set<FileIdentity> {
    let files = RealFileSystem()
    let found = UserPath.upwards(from: Array(path.utf8)).compactMap {
      try? files.status(userPath: $0).identity
    }
    return Set(found)
  }
}
