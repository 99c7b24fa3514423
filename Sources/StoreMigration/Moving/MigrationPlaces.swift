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
    for path in folders(of: source, from) {
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

  /// Refuses a file for the report that would be written over a part of the source, or lies in the
  /// destination.
  static func check(
    report: String, source: String, destination: String
  ) throws(MigrationError) {
    let (own, above) = (status(report).map(Identity.init), ancestors(of: report))
    if let from = status(source) {
      let files = ["", "-wal", "-shm", "-journal"].compactMap { status(source + $0) }
      let folders = folders(of: source, from).compactMap { status($0) }
      if files.contains(where: { Identity($0) == own })
        || folders.contains(where: { above.contains(Identity($0)) })
      {
        throw .reportInSource(report, source)
      }
    }
    if let to = status(destination), above.contains(Identity(to)) {
      throw .reportInDestination(report, destination)
    }
  }

  /// The folders that belong to a source: itself, or those with bodies beside a database.
  private static func folders(of source: String, _ status: FileStatus) -> [String] {
    if status.kind == .directory { return [source] }
    let (folder, name) = SourceLocation.split(source)
    let stem = name.split(separator: ".", omittingEmptySubsequences: false).dropLast()
    return (BodyFolder.names + [".\(stem.isEmpty ? name : stem.joined(separator: "."))_SUPPORT"])
      .map { "\(folder)/\($0)" }
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
