public import CacheSystem

@_exported public import struct CacheSystem.SystemError

/// The reason why a file or a form cannot be sent.
public struct UploadError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Cause: Sendable, Hashable {
    /// The file cannot be opened or read: it is missing, or this user has no permission.
    case unreadable(SystemError)
    /// A directory, a device or a pipe, which has no length.
    case notAFile
    /// The file was changed or replaced after its length had been sent.
    case changed
    /// The media type of a part has characters that would begin a new line.
    case mediaType
  }

  /// What is wrong.
  public let cause: Cause

  /// The path of the file, or the name of the part.
  public let path: String

  package init(_ cause: Cause, path: String) {
    self.cause = cause
    self.path = path
  }

  /// The file, what is wrong, and what to do.
  public var description: String {
    switch cause {
    case .unreadable(let error): "\(path): it cannot be read (\(error)); check path and permissions"
    case .notAFile: "\(path): it is a folder, a pipe or a device; send a regular file"
    case .changed: "\(path): it changed while it was sent; send a copy that nobody writes to"
    case .mediaType: "\(path): its media type has control characters; leave them out"
    }
  }
}
