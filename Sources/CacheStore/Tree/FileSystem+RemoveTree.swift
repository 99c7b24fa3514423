internal import CacheSystem

extension FileSystem {
  /// The depth of directories that `removeTree` enters. A store has none that are deeper.
  private static var maximumDepth: Int { 8 }
  private static var listedAtOnce: Int { 1024 }

  /// Removes the contents of a directory. Files that cannot be removed stay.
  func removeTree(_ directory: borrowing Descriptor, depth: Int = 0) {
    guard depth < Self.maximumDepth else { return }
    var names: [(PathName, FileKind)] = []
    repeat {
      names = []
      try? list(directory.raw) { name, kind in
        names.append((name, kind))
        return names.count < Self.listedAtOnce
      }
      var removed = 0
      for (name, kind) in names where removeWhole(name, kind, in: directory, depth) { removed += 1 }
      if removed == 0 { return }
    } while names.count == Self.listedAtOnce
  }

  private func removeWhole(
    _ name: PathName, _ kind: FileKind, in directory: borrowing Descriptor, _ depth: Int
  ) -> Bool {
    guard kind == .directory else { return (try? removeFile(name, in: directory.raw)) != nil }
    if let inner = try? open(name, in: directory, [.read, .directory]) {
      removeTree(inner, depth: depth + 1)
    }
    return (try? removeDirectory(name, in: directory.raw)) != nil
  }
}
