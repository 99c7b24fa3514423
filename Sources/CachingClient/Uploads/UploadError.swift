public import CacheSystem

/// Tells why a file or a form cannot be sent.
public struct UploadError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Names the cause.
  public enum Cause: Sendable, Hashable {
    /// The file cannot be opened or read: it is missing, or this user may not read it.
    case unreadable(SystemError)
    /// It is a directory, a device or a pipe, whose length nobody knows.
    case notAFile
    /// It was changed, or another one was put in its place, after its length had been told.
    case changed
    /// The media type of a part has characters that would begin another line.
    case mediaType
  }

  /// Names the cause.
  public let cause: Cause

  /// Gives the path of the file, or the name of the part.
  public let path: String

  /// Makes an error.
  public init(_ cause: Cause, path: String) {
    self.cause = cause
    self.path = path
  }

  /// Says which file, what is wrong, and what to do.
  public var description: String {
    switch cause {
    case .unreadable(let error): "\(path): it cannot be read (\(error)); check path and permissions"
    case .notAFile: "\(path): it is no regular file; send its bytes, or copy them to a file first"
    case .changed: "\(path): it changed while it was sent; send a copy that nobody writes to"
    case .mediaType: "\(path): its media type has control characters; leave them out"
    }
  }
}
