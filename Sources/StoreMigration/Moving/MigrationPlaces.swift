internal import CacheSystem

/// Looks whether source and destination keep out of each other's way.
enum MigrationPlaces {
  /// What tells a folder from others. A file system of another volume may use an inode number again,
  /// but not with the same time to the nanosecond.
  private struct Identity: Equatable {
    let number: UInt64
    let modified: Int64

    init(_ status: FileStatus) {
      number = status.fileNumber
      modified = status.modified
    }
  }

  /// Refuses a destination that is the source, in its folder or above it.
  ///
  /// Beside a database that is named itself, a store may be.
  static func check(source: String, destination: String) throws(MigrationError) {
    guard let from = status(source) else { return }
    let above = ancestors(of: destination)
    if let to = status(destination), Identity(to) == Identity(from) { throw .same(destination) }
    let folder = SourceLocation.split(source).folder
    let own =
      from.kind == .directory ? [source] : BodyFolder.names.map { "\(folder)/\($0)" }
    for path in own {
      if let identity = status(path).map(Identity.init), above.contains(identity) {
        throw .destinationInSource(destination, path)
      }
    }
    let aboveSource = ancestors(of: from.kind == .directory ? source : folder)
    if let to = status(destination).map(Identity.init), aboveSource.contains(to),
      isStore(destination)
    {
      throw .sourceInDestination(source, destination)
    }
  }

  /// A folder that is above the source and no store is refused by the store itself.
  private static func isStore(_ path: String) -> Bool { status("\(path)/store.json") != nil }

  private static func status(_ path: String) -> FileStatus? {
    guard let file = try? RealFileSystem().open(userPath: path, [.read]) else { return nil }
    return try? RealFileSystem().status(of: file.raw)
  }

  /// The folder itself, or the nearest one that is there, and all above it.
  private static func ancestors(of path: String) -> [Identity] {
    var path = path
    while status(path)?.kind != .directory {
      let parent = SourceLocation.split(path).folder
      if parent == path || parent == "." && path == "." { return [] }
      path = parent
    }
    var found: [Identity] = []
    while let identity = status(path).map(Identity.init), found.last != identity,
      found.count < 1_000
    {
      found.append(identity)
      path += "/.."
    }
    return found
  }
}
