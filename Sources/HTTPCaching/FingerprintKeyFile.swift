import CLibrary
public import CacheSystem

@_exported public import struct CacheSystem.SystemError

/// The reason why the file of a ``FingerprintKey`` cannot be used.
public struct FingerprintKeyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The cause.
  public enum Cause: Sendable, Hashable {
    /// Neither `XDG_STATE_HOME` nor `HOME` contains the path of a folder.
    case noFolder
    /// It is a link, a folder or something else than a regular file.
    case notAFile
    /// It belongs to another user, with this user id.
    case owner(UInt32)
    /// It has this many names (hard links), one of which may belong to another user.
    case links(UInt64)
    /// Other users may read or write it; the permission bits.
    case mode(UInt16)
    /// Its length is not that of a key.
    case length(UInt64)
    /// It cannot be read or created.
    case system(SystemError)
  }

  /// The path of the file; empty if no folder is known.
  public let path: String

  /// The cause.
  public let cause: Cause

  /// The file, the problem and the remedy.
  public var description: String {
    switch cause {
    case .noFolder:
      "the key for stored credentials has no place, as neither XDG_STATE_HOME nor HOME names a "
        + "folder; set one of them"
    case .notAFile: "\(path): it is no plain file; move it away, and a new key is made"
    case .owner(let user):
      "\(path): it belongs to user \(user), this is user \(geteuid()); move it away, and a new key "
        + "is made"
    case .links(let count):
      "\(path): it has \(count) names, one of which may be another user's; move it away, and a new "
        + "key is made"
    case .mode(let mode):
      "\(path): others may use it (mode \(String(mode, radix: 8))); if nobody has read it, run "
        + "chmod 600, else remove it, and a new key is made"
    case .length(let count):
      "\(path): it has \(count) bytes and no key; move it away, and a new key is made"
    case .system(let error):
      "\(path): it cannot be read or made (\(error)); check its folder and its rights"
    }
  }
}

struct FingerprintKeyFile: Sendable {
  private let path: String?
  private let files: RealFileSystem

  init(path: String?) {
    self.path = path ?? UserPath.stateFile("fingerprint.key")
    files = RealFileSystem()
  }

  func key() throws(FingerprintKeyError) -> [UInt8] {
    guard let path else { throw FingerprintKeyError(path: "", cause: .noFolder) }
    let (folder, last) = UserPath.split(path)
    guard let name = PathName(bytes: last.utf8) else {
      throw FingerprintKeyError(path: path, cause: .notAFile)
    }
    let found: Result<[UInt8], FingerprintKeyError>
    do throws(SystemError) {
      files.makeFolders(folder)
      let directory = try files.open(userPath: folder, [.read, .directory])
      if let there = try read(name, directory) {
        found = there
      } else {
        found = try readOrMake(name, directory)
      }
    } catch {
      throw FingerprintKeyError(path: path, cause: .system(error))
    }
    return try found.get()
  }

  private func failure(_ cause: FingerprintKeyError.Cause) -> Result<[UInt8], FingerprintKeyError> {
    .failure(FingerprintKeyError(path: path ?? "", cause: cause))
  }

  /// Creates the key under a lock, so that processes which start at the same time get the same key.
  private func readOrMake(
    _ name: PathName, _ directory: borrowing Descriptor
  ) throws(SystemError) -> Result<[UInt8], FingerprintKeyError> {
    try? files.lock(directory)
    defer { files.unlock(directory.raw) }
    if let found = try read(name, directory) { return found }
    return .success(try make(name, directory))
  }

  /// Returns the key, or the problem of the file; `nil` if there is no file.
  private func read(
    _ name: PathName, _ directory: borrowing Descriptor
  ) throws(SystemError) -> Result<[UInt8], FingerprintKeyError>? {
    do throws(SystemError) {
      let file = try files.open(name, in: directory, [.read])
      let status = try files.status(of: file.raw)
      if let cause = Self.fault(of: status) { return failure(cause) }
      let bytes = try files.readBytes(file, count: FingerprintKey.byteCount, at: 0)
      // The file was shortened meanwhile.
      guard bytes.count == FingerprintKey.byteCount else {
        return failure(.length(UInt64(bytes.count)))
      }
      return .success(bytes)
    } catch  where error == .notFound {
      return nil
    } catch  where error.isWrongKind {
      return failure(.notAFile)
    }
  }

  /// Returns the reason why an open file must not be trusted; `nil` if there is none.
  private static func fault(of status: FileStatus) -> FingerprintKeyError.Cause? {
    if status.kind != .file { return .notAFile }
    if status.owner != geteuid() { return .owner(status.owner) }
    if status.linkCount != 1 { return .links(status.linkCount) }
    if status.mode & 0o077 != 0 { return .mode(status.mode) }
    return status.length == UInt64(FingerprintKey.byteCount) ? nil : .length(status.length)
  }

  /// Creates the file by a rename, so that it is never incomplete.
  private func make(
    _ name: PathName, _ directory: borrowing Descriptor
  ) throws(SystemError) -> [UInt8] {
    let key = FingerprintKey.randomBytes()
    try files.replace(
      name, in: directory, with: key, through: PathName(".fingerprint.new"), synced: true)
    try? files.synchronize(directory, names: true)
    return key
  }
}
