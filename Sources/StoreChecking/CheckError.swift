internal import CacheSystem

/// Why a store could not be checked.
public struct CheckError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A kind of error.
  public enum Code: Sendable, Hashable {
    /// There is nothing at the path, or no store.
    case noStore
    /// The user may not read there, or not write though repair was asked for.
    case permissionDenied
    /// A newer version wrote the store.
    case newerFormat
    /// `StoreChecker.cancel` was called.
    case cancelled
    /// Any other failure of the system.
    case inputOutput
  }

  /// The kind of the error.
  public var code: Code
  /// The path of the store, or of the part of it, that the error is about.
  public var path: String
  /// The errno behind it, or 0.
  public var errno: Int32
  /// What is wrong, in a sentence without a full stop.
  public var cause: String
  /// What to do.
  public var remedy: String

  /// Creates an error.
  package init(_ code: Code, path: String, errno: Int32 = 0, cause: String, remedy: String) {
    self.code = code
    self.path = path
    self.errno = errno
    self.cause = cause
    self.remedy = remedy
  }

  /// Gives "path: cause; remedy".
  public var description: String { "\(path): \(cause); \(remedy)" }
}

extension CheckError {
  /// Says of a failed system call what it means for the check.
  init(_ error: SystemError, path: String) {
    if error.isPermission || error.isReadOnly {
      self.init(
        .permissionDenied, path: path, errno: error.code, cause: error.description,
        remedy: "run as the user that the store belongs to")
    } else if error.isOutOfDescriptors {
      self.init(
        .inputOutput, path: path, errno: error.code, cause: error.description,
        remedy: "allow more open files (ulimit -n), or use fewer jobs")
    } else {
      self.init(
        .inputOutput, path: path, errno: error.code, cause: error.description,
        remedy: "check the disk, then try again")
    }
  }

  /// The check was cancelled.
  static func cancelled(_ path: String) -> CheckError {
    CheckError(
      .cancelled, path: path, cause: "the check was cancelled", remedy: "start it again")
  }
}
