public import CacheSystem

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Tells why the file of a ``FingerprintKey`` cannot be used.
public struct FingerprintKeyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names the cause.
  public enum Cause: Sendable, Hashable {
    /// Neither `XDG_STATE_HOME` nor `HOME` names a folder.
    case noFolder
    /// It is a link, a folder or something else that is no plain file.
    case notAFile
    /// It belongs to another user, with this number.
    case owner(UInt32)
    /// It has several names, so that others may have put it there.
    case links(UInt64)
    /// Others than its owner may read or write it; the permission bits.
    case mode(UInt16)
    /// It has not as many bytes as a key.
    case length(UInt64)
    /// It cannot be read or made.
    case system(SystemError)
  }

  /// The path of the file; empty where no folder is known.
  public let path: String

  /// Names the cause.
  public let cause: Cause

  /// Says which file, what is wrong, and what to do.
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

/// Reads and makes the file of a ``FingerprintKey``.
struct FingerprintKeyFile: Sendable {
  /// nil: no folder is known.
  private let path: String?
  private let files: RealFileSystem

  init(path: String?) {
    self.path = path ?? Self.usualPath
    files = RealFileSystem()
  }

  /// Reads the key; makes one where there is none.
  func key() throws(FingerprintKeyError) -> [UInt8] {
    guard let path else { throw FingerprintKeyError(path: "", cause: .noFolder) }
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let file = slash.map { path[path.utf8.index(after: $0)...] } ?? path[...]
    guard let name = PathName(bytes: Array(file.utf8)) else {
      throw FingerprintKeyError(path: path, cause: .notAFile)
    }
    do throws(Failure) {
      return try key(name, folder)
    } catch {
      throw FingerprintKeyError(path: path, cause: error.cause)
    }
  }

  /// Carries a cause to the one who knows the path.
  private struct Failure: Error {
    let cause: FingerprintKeyError.Cause
  }

  private func key(_ name: PathName, _ folder: String) throws(Failure) -> [UInt8] {
    let found: Result<[UInt8], Failure>
    do throws(SystemError) {
      makeFolders(folder)
      let directory = try files.open(userPath: folder, [.read, .directory])
      if let there = try read(name, directory) {
        found = there
      } else {
        found = try readOrMake(name, directory)
      }
    } catch {
      throw Failure(cause: .system(error))
    }
    return try found.get()
  }

  /// Makes the key under a lock: processes that begin at the same time get the same one.
  private func readOrMake(
    _ name: PathName, _ directory: borrowing Descriptor
  ) throws(SystemError) -> Result<[UInt8], Failure> {
    try? files.lock(directory)
    defer { files.unlock(directory.raw) }
    if let found = try read(name, directory) { return found }
    return .success(try make(name, directory))
  }

  /// Returns the key, or what is wrong with the file; nil where there is none.
  private func read(
    _ name: PathName, _ directory: borrowing Descriptor
  ) throws(SystemError) -> Result<[UInt8], Failure>? {
    do throws(SystemError) {
      let file = try files.open(name, in: directory, [.read])
      let status = try files.status(of: file.raw)
      if let cause = Self.fault(of: status) { return .failure(Failure(cause: cause)) }
      let bytes = try files.readBytes(file, count: FingerprintKey.byteCount, at: 0)
      // A file that became shorter meanwhile.
      guard bytes.count == FingerprintKey.byteCount else {
        return .failure(Failure(cause: .length(UInt64(bytes.count))))
      }
      return .success(bytes)
    } catch  where error == .notFound {
      return nil
    } catch  where error.isWrongKind {
      return .failure(Failure(cause: .notAFile))
    }
  }

  /// Returns why a file that is open is not to be trusted.
  private static func fault(of status: FileStatus) -> FingerprintKeyError.Cause? {
    if status.kind != .file { return .notAFile }
    if status.owner != geteuid() { return .owner(status.owner) }
    if status.linkCount != 1 { return .links(status.linkCount) }
    if status.mode & 0o077 != 0 { return .mode(status.mode) }
    return status.length == UInt64(FingerprintKey.byteCount) ? nil : .length(status.length)
  }

  /// Makes the file, by rename, so that it is never there in part.
  private func make(
    _ name: PathName, _ directory: borrowing Descriptor
  ) throws(SystemError) -> [UInt8] {
    let key = FingerprintKey.randomBytes()
    var new = PathName(".fingerprint.")
    new.appendHex(UInt64.random(in: .min ... .max), digits: 16)
    try files.replace(name, in: directory, with: key, through: new, synced: true)
    try? files.synchronize(directory, names: true)
    return key
  }

  /// Makes what is missing of the folder; the opening after it tells whether that did.
  private func makeFolders(_ folder: String) {
    var prefix = folder.hasPrefix("/") ? "/" : ""
    for part in folder.split(separator: "/") {
      prefix += part
      try? files.makeDirectory(userPath: prefix, mode: 0o700)
      prefix += "/"
    }
  }

  /// The XDG Base Directory Specification has relative paths ignored.
  private static var usualPath: String? {
    if let base = environment("XDG_STATE_HOME"), base.hasPrefix("/") {
      return base + "/offlinecache/fingerprint.key"
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    #if canImport(Darwin)
      return home + "/Library/Application Support/offlinecache/fingerprint.key"
    #else
      return home + "/.local/state/offlinecache/fingerprint.key"
    #endif
  }

  private static func environment(_ name: String) -> String? {
    // Safety: the text is copied at once.
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }
}
