internal import CacheSystem

/// A folder for private copies, which only this object uses. It is removed with its contents when
/// the last reference is released.
///
/// Its lock shows other processes that the owner is alive. A folder that a killed process has left
/// is removed by the next process that uses the same place.
final class TemporaryFolder {
  private static let prefix = Array("offlinecache-migration-".utf8)
  private static let attempts = 8

  /// The path, for SQLite.
  let path: String

  private let files = RealFileSystem()
  private let parent: Descriptor
  private let name: PathName
  let descriptor: Descriptor

  /// Creates a folder that only this user can open.
  ///
  /// - Parameters:
  ///   - place: The path of an existing folder on a volume with room for the copy.
  ///   - whenMade: A function that is called with the path of a folder that is not locked yet.
  init(in place: String, whenMade: (String) -> Void = { _ in }) throws(SystemError) {
    let prefix = place.hasSuffix("/") ? place : place + "/"
    parent = try files.open(userPath: place, [.read, .directory])
    Self.sweep(parent, files)
    let made = try Self.make(in: parent, files) { whenMade(prefix + $0.text) }
    name = made.name
    descriptor = made.descriptor
    path = prefix + name.text
  }

  /// A folder whose lock this process holds.
  private struct Locked: ~Copyable {
    let name: PathName
    let descriptor: Descriptor
  }

  private static func make(
    in parent: borrowing Descriptor, _ files: RealFileSystem, whenMade: (PathName) -> Void
  ) throws(SystemError) -> Locked {
    for _ in 0..<attempts {
      var name = PathName()
      name.append("offlinecache-migration-")
      name.appendHex(UInt64.random(in: .min ... .max), digits: 16)
      try files.makeDirectory(name, in: parent.raw, mode: 0o700)
      whenMade(name)
      do throws(SystemError) {
        let descriptor = try files.open(name, in: parent, [.read, .directory])
        // Until it is locked, another process may take it for one that a killed process has left.
        guard try files.tryLock(descriptor) else { continue }
        // If others can rename files in the place, another folder may have the name by now.
        let status = try files.status(of: descriptor.raw)
        guard status.isOwn, status.mode & 0o077 == 0 else { throw SystemError.othersFile }
        if try files.status(at: name, in: parent.raw).identity == status.identity {
          return Locked(name: name, descriptor: descriptor)
        }
      } catch  where error == .notFound { continue }
    }
    throw .wouldBlock
  }

  deinit { Self.remove(name, descriptor, from: parent, files) }

  private static func sweep(_ parent: borrowing Descriptor, _ files: RealFileSystem) {
    var found: [PathName] = []
    try? files.list(parent.raw) { name, kind in
      if kind == .directory, name.count == prefix.count + 16, name.bytes.starts(with: prefix) {
        found.append(name)
      }
      return found.count < 64
    }
    for name in found {
      guard let folder = try? files.open(name, in: parent, [.read, .directory]),
        (try? files.status(of: folder.raw))?.isOwn == true, (try? files.tryLock(folder)) == true
      else { continue }
      remove(name, folder, from: parent, files)
    }
  }

  private static func remove(
    _ name: PathName, _ folder: borrowing Descriptor, from parent: borrowing Descriptor,
    _ files: RealFileSystem
  ) {
    var names: [PathName] = []
    try? files.list(folder.raw) { name, _ in
      names.append(name)
      return names.count < 64
    }
    // Files that cannot be removed are left for the next process; errors are ignored.
    for name in names { try? files.removeFile(name, in: folder.raw) }
    try? files.removeDirectory(name, in: parent.raw)
  }
}
