internal import CacheStore
internal import CacheSystem

/// The rules for modes and owners of files.
///
/// The owner must be able to read and write (and to enter a directory), and nobody else anything.
/// Other bits of the owner, and bits that a file system sets by itself, are allowed. A body that
/// has several names is shared, perhaps with a copy of the store. Its mode is not changed, so it is
/// enough that its owner can read it.
struct Permissions {
  let owner: UInt32
  var ofBodies = false

  private func needed(_ status: FileStatus) -> UInt16 {
    status.kind == .directory ? 0o700 : ofBodies && status.isLinked ? 0o400 : 0o600
  }

  private func hasRightMode(_ status: FileStatus) -> Bool {
    status.mode & needed(status) == needed(status)
      && (status.mode & 0o077 == 0 || ofBodies && status.isLinked)
  }

  /// Returns whether an error is due to a mode that a repair sets.
  func explain(_ error: SystemError, _ status: FileStatus) -> Bool {
    error.isPermission && status.owner == owner && status.mode & needed(status) != needed(status)
  }

  /// Returns the suspicions about mode and owner of a file or directory.
  func suspicions(
    of status: FileStatus, path: @autoclosure () -> [UInt8], name: PathName?
  ) -> [Suspicion] {
    var found: [Suspicion] = []
    if !hasRightMode(status) {
      found.append(
        Suspicion(
          kind: .wrongMode, path: path(), name: name,
          detail: "mode \(octal(status.mode)), should be \(octal(needed(status)))"))
    }
    if status.owner != owner {
      found.append(
        Suspicion(
          kind: .wrongOwner, path: path(), name: name,
          detail: "user \(status.owner), the store is of \(owner)"))
    }
    return found
  }
}

func octal(_ mode: UInt16) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

extension FileKind {
  var words: String {
    switch self {
    case .file: "a file"
    case .directory: "a directory"
    case .link: "a symbolic link"
    case .other: "a device, fifo or socket"
    }
  }
}
