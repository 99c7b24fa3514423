internal import CacheSystem

/// Checks that source, destination and report do not overlap.
package enum MigrationPlaces {
  /// Throws for a destination that is the source, or is in its folder or above it.
  ///
  /// If the source is a database file, a store may be beside it.
  static func check(source: String, destination: String) throws(MigrationError) {
    guard let from = status(source) else { return }
    let place = place(of: destination)
    let above = ancestors(of: place)
    if let to = status(place), to.identity == from.identity { throw .same(destination) }
    let folder = UserPath.split(source).folder
    for path in folders(of: source, from) {
      if let identity = status(path)?.identity, above.contains(identity) {
        throw .destinationInSource(destination, path)
      }
    }
    let aboveSource = ancestors(of: from.kind == .directory ? source : folder)
    if let to = status(place)?.identity, aboveSource.contains(to),
      isStore(place)
    {
      throw .sourceInDestination(source, destination)
    }
  }

  /// Throws for a report that would overwrite a part of the source, or is in the destination.
  ///
  /// - Throws: `reportInSource` or `reportInDestination`.
  package static func check(
    report: String, source: String, destination: String
  ) throws(MigrationError) {
    let (own, above) = (status(report)?.identity, ancestors(of: report))
    if let from = status(source) {
      let files = ["", "-wal", "-shm", "-journal"].compactMap { status(source + $0) }
      let folders = folders(of: source, from).compactMap { status($0) }
      if files.contains(where: { $0.identity == own })
        || folders.contains(where: { above.contains($0.identity) })
      {
        throw .reportInSource(report, source)
      }
    }
    if let to = status(destination), above.contains(to.identity) {
      throw .reportInDestination(report, destination)
    }
  }

  /// Returns the folders of a source: the source itself, or the folders with bodies beside a
  /// database.
  private static func folders(of source: String, _ status: FileStatus) -> [String] {
    if status.kind == .directory { return [source] }
    let (folder, name) = UserPath.split(source)
    return BodyFolder.names(besides: name).map { "\(folder)/\($0)" }
  }

  /// Returns the path of a destination once its missing folders are made. Each of them will be a new
  /// folder in the one before, so `..` leads back from it.
  private static func place(of path: String) -> String {
    var place = path.hasPrefix("/") ? "/" : "."
    for part in path.utf8.split(separator: UInt8(ascii: "/")) {
      let name = String(decoding: part, as: UTF8.self)
      if name == ".." && status(place) == nil {
        place = UserPath.split(place).folder
      } else if name != "." {
        place += place == "/" ? name : "/" + name
      }
    }
    return place
  }

  /// Returns whether a folder is a store. The store itself refuses any other folder above the
  /// source.
  private static func isStore(_ path: String) -> Bool { status("\(path)/store.json") != nil }

  private static func status(_ path: String) -> FileStatus? {
    try? RealFileSystem().status(userPath: path)
  }

  /// Returns the folder, or the nearest one that exists, and all folders above it.
  private static func ancestors(of path: String) -> [FileIdentity] {
    var path = path
    while status(path)?.kind != .directory {
      let parent = UserPath.split(path).folder
      if parent == path || parent == "." && path == "." { return [] }
      path = parent
    }
    var found: [FileIdentity] = []
    while let identity = status(path)?.identity, found.last != identity,
      found.count < 1_000
    {
      found.append(identity)
      path += "/.."
    }
    return found
  }
}
