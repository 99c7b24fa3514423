internal import CacheSystem

/// The folder with the bodies that are files. Their names come from the database, so an attacker
/// may have chosen them: each must be one component, it is opened relative to the folder, and no
/// link is followed.
final class BodyFolder {
  private let files = RealFileSystem()
  private let folder: OpenFile?

  /// Opens a folder below that of the database. A link counts as missing.
  init(_ components: [String], besides database: String) {
    let parent = UserPath.split(database).folder
    var folder = try? OpenFile(files.open(userPath: parent, [.read, .directory]))
    for component in components {
      guard let parent = folder, let name = PathName(bytes: Array(component.utf8)) else {
        folder = nil
        break
      }
      folder = try? OpenFile(files.open(name, in: parent.descriptor, [.read, .directory]))
    }
    self.folder = folder
  }

  /// Returns the names of such folders beside a database, for all formats.
  static func names(besides database: String) -> [String] {
    ["fsCachedData", "data", supportName(of: database)]
  }

  /// Returns the name of the folder that Core Data has beside a database.
  static func supportName(of database: String) -> String {
    let dot = database.utf8.lastIndex(of: UInt8(ascii: "."))
    return ".\(dot.map { String(database[..<$0]) } ?? database)_SUPPORT"
  }

  var exists: Bool { folder != nil }

  /// Finds the file of a body.
  ///
  /// - Parameter accepts: Returns whether a name has the form that the format uses.
  /// - Returns: The length of the file.
  func find(_ name: [UInt8], accepts: ([UInt8]) -> Bool) throws(RowError) -> UInt64 {
    guard !name.isEmpty else { throw RowError.skip(.badBodyFileName, "") }
    guard accepts(name), !name.contains(UInt8(ascii: "/")), !name.contains(0),
      name != Array(".".utf8), name != Array("..".utf8), let path = PathName(bytes: name)
    else {
      let text = RowError.excerpt(String(decoding: name, as: UTF8.self))
      throw RowError.skip(.unsafeFileName, text)
    }
    guard let folder, let status = try? files.status(at: path, in: folder.descriptor.raw) else {
      throw RowError.skip(.missingBodyFile, path.text)
    }
    guard status.kind != .link else { throw RowError.skip(.unsafeFileName, "a symbolic link") }
    guard status.kind == .file else { throw RowError.skip(.missingBodyFile, "no regular file") }
    return status.length
  }

  func open(_ name: [UInt8]) throws(SystemError) -> OpenFile {
    guard let path = PathName(bytes: name), let folder else { throw .notFound }
    return OpenFile(try files.open(path, in: folder.descriptor, [.read]))
  }

  /// Reads up to `count` bytes of a file; returns `nil` on failure.
  func read(_ name: [UInt8], count: Int) -> [UInt8]? {
    guard let file = try? open(name) else { return nil }
    return try? files.readBytes(file.descriptor, count: count, at: 0)
  }

  /// Returns whether a name is a UUID, as the names of files in Apple's stores are.
  static func isUUID(_ name: [UInt8]) -> Bool {
    name.count == 36
      && name.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == UInt8(ascii: "-") : 48...57 ~= byte || 97...102 ~= byte | 0x20
      }
  }
}
