internal import CLibrary

/// The error number of a failed system call, see errno(3).
public struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The value of errno, for example ENOSPC.
  public var code: Int32

  package init(_ code: Int32) { self.code = code }

  /// The error of open(2) for a socket.
  private static var socket: Int32 {
    #if canImport(Darwin)
      EOPNOTSUPP
    #else
      ENXIO
    #endif
  }

  /// The message of strerror(3).
  public var description: String {
    // Safety: strerror returns a NUL-terminated text that is copied at once.
    unsafe String(cString: strerror(code))
  }

  package static let notFound = SystemError(ENOENT)
  package static let exists = SystemError(EEXIST)
  package static let interrupted = SystemError(EINTR)
  package static let wouldBlock = SystemError(EWOULDBLOCK)
  package static let inputOutput = SystemError(EIO)
  package static let nameTooLong = SystemError(ENAMETOOLONG)
  package static let notEmpty = SystemError(ENOTEMPTY)
  package static let readOnlyFileSystem = SystemError(EROFS)
  /// The name does not refer to a regular file.
  package static let notAFile = SystemError(EISDIR)
  /// The file is larger than the limit for its kind.
  package static let tooLarge = SystemError(EFBIG)
  /// The file does not have the expected length.
  package static let wrongLength = SystemError(EOVERFLOW)

  /// Whether the volume or the user's quota is full.
  package var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }

  /// Whether the path, or a directory on it, is a symbolic link or has the wrong kind, such as a socket.
  package var isWrongKind: Bool {
    code == ELOOP || code == ENOTDIR || code == EISDIR || code == Self.socket
  }

  /// Whether the file system has found that it is damaged itself.
  package var isCorruption: Bool {
    #if canImport(Darwin)
      code == EBADMSG
    #else
      code == EBADMSG || code == EUCLEAN
    #endif
  }

  package var isPermission: Bool { code == EACCES || code == EPERM }

  package var isReadOnly: Bool { code == EROFS }

  /// Whether the process or the system has too many open files.
  package var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

  /// Whether a copy is needed because no hard link is possible here: too many links, not supported,
  /// another volume, or not allowed.
  package var isNoLink: Bool {
    code == EMLINK || code == ENOTSUP || code == EOPNOTSUPP || code == EXDEV || code == EPERM
  }
}

/// Calls `body` until it no longer fails with EINTR.
@inline(__always)
package func retryOnInterrupt<R>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R {
  while true {
    do { return try body() } catch  where error == .interrupted { continue } catch { throw error }
  }
}
