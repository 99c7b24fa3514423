internal import CacheSystem

/// The error for which a store could not be checked.
public struct CheckError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A kind of error. The raw value is the stable name that the tool prints.
  public enum Code: String, Sendable, Hashable {
    /// There is no store at the path.
    case noStore = "no-store"
    /// The user may not read the store, or may not write to it for a repair.
    case permissionDenied = "permission-denied"
    /// A newer version wrote the store.
    case newerFormat = "newer-format"
    /// `StoreChecker.cancel` was called.
    case cancelled
    /// Any other failure of the system.
    case inputOutput = "input-output"
  }

  /// The kind of the error.
  public var code: Code
  /// The path of the file or directory that the error is about.
  public var path: String
  /// The errno of the failed system call, or 0.
  public var errno: Int32
  /// The cause, as a sentence without a full stop.
  public var cause: String
  /// The remedy.
  public var remedy: String

  package init(_ code: Code, path: String, errno: Int32 = 0, cause: String, remedy: String) {
    self.code = code
    self.path = path
    self.errno = errno
    self.cause = cause
    self.remedy = remedy
  }

  /// The text "path: cause; remedy".
  public var description: String { "\(path): \(cause); \(remedy)" }
}

extension CheckError {
  /// Makes the error that a failed system call means for the check.
  init(_ error: SystemError, path: String) {
    let (code, remedy): (Code, String)
    if error.isPermission || error.isReadOnly {
      (code, remedy) = (
        .permissionDenied, "run as the user that the store belongs to, and `chmod u+rwx` it"
      )
    } else if error.isOutOfDescriptors {
      (code, remedy) = (.inputOutput, "allow more open files (ulimit -n), or use fewer jobs")
    } else {
      (code, remedy) = (.inputOutput, "check the disk, then try again")
    }
    self.init(code, path: path, errno: error.code, cause: error.description, remedy: remedy)
  }

  static func cancelled(_ path: String) -> CheckError {
    CheckError(
      .cancelled, path: path, cause: "the check was cancelled", remedy: "start it again")
  }
}
