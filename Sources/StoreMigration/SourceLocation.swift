internal import CacheSystem

enum SourceLocation {
  private static let maximumFiles = 10_000

  /// Returns the path of the file or folder that a symbolic link leads to; other paths unchanged.
  /// What belongs to a database is beside that file, and not beside the link.
  ///
  /// A link that the system does not follow, because another user may have planted it, is returned
  /// unchanged: it cannot be opened, either.
  static func resolved(_ path: String) throws(SourceError) -> String {
    let files = RealFileSystem()
    guard (try? files.status(userPath: Array(path.utf8), followsLink: false).kind) == .link,
      (try? files.status(userPath: path)) != nil, let real = UserPath.real(Array(path.utf8))
    else { return path }
    guard let text = String(validating: real, as: UTF8.self) else {
      throw SourceError(.notFound, path, "the name of what it leads to is not UTF-8")
    }
    return text
  }

  /// Returns the database files for a path: the path itself, or the files in the folder.
  static func databases(at path: String) throws(SourceError) -> [String] {
    let path = try resolved(path)
    let files = RealFileSystem()
    var hint = ""
    do throws(SystemError) {
      let place = try files.open(userPath: path, [.read])
      guard try files.status(of: place.raw).kind == .directory else { return [path] }
      var names: [PathName] = []
      try files.list(place.raw) { name, kind in
        if kind == .file { names.append(name) }
        return names.count < maximumFiles
      }
      var found: [String] = []
      for name in names where isDatabase(name, in: place, files) {
        // SQLite cannot open a name that is not UTF-8.
        guard let text = String(validating: name.bytes, as: UTF8.self) else {
          hint = "the name of \(name.text) is not UTF-8: rename it"
          continue
        }
        found.append(path.hasSuffix("/") ? path + text : "\(path)/\(text)")
      }
      if !found.isEmpty { return found.sorted() }
      for name in names where hint.isEmpty {
        if try files.status(at: name, in: place.raw).length == 0 { hint = "\(name.text) is empty" }
      }
    } catch { throw SourceError(reading: path, error) }
    throw SourceError(.noDatabase, path, hint)
  }

  private static func isDatabase(
    _ name: PathName, in place: borrowing Descriptor, _ files: RealFileSystem
  ) -> Bool {
    guard let file = try? files.open(name, in: place, [.read]),
      let bytes = try? files.readBytes(file, count: 16, at: 0)
    else { return false }
    return DatabaseHeader.begins(bytes)
  }
}
