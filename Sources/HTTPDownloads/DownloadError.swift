public import CacheSystem
public import ContentCoding
public import HTTPTransports

@_exported public import struct CacheSystem.SystemError
@_exported public import enum ContentCoding.ContentCodingError

/// The reason why a download ended without its file.
public struct DownloadError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Cause: Error, Sendable, Hashable {
    /// The caller cancelled it.
    case cancelled
    /// The network failed, also in all retries.
    case transport(TransportError)
    /// The server answered with another status than 200, 203 or 206, also in all retries.
    case status(Int)
    /// There were more redirects in a row than the caller allowed.
    case tooManyRedirects(maximum: Int)
    /// A redirect leads to a URL that cannot be fetched, such as `file:`.
    case unusableRedirect(String)
    /// The request is not a `GET`.
    case method(String)
    /// The content coding of the body is damaged.
    case coding(ContentCodingError)
    /// The file has another length in bytes than the server stated.
    case wrongLength(expected: UInt64, received: UInt64)
    /// The file has another digest than the server or the caller stated.
    case wrongDigest(expected: StatedDigest, actual: StatedDigest)
    /// Somebody else has removed, replaced or changed the hidden file that the bytes are written
    /// to.
    case disturbed
    /// The path is not that of a file: it is empty, or ends with `/`, `.` or `..`, or has a NUL, or
    /// its name is too long, or begins with `.offlinecache-`, as those of hidden files do.
    case invalidPath
    /// The path is that of a directory.
    case isDirectory
    /// The path is that of a device, a pipe or a socket, such as `/dev/null`, which the file would replace.
    case notAFile
    /// There is a file that is not a download of the URL, or was changed since, and must not be
    /// replaced.
    case fileExists
    /// The file with this name, or a hidden file beside it, belongs to another user and cannot be
    /// replaced.
    case othersFile(String)
    /// A file cannot be created, written or renamed.
    case file(SystemError)
  }

  /// What is wrong.
  public let cause: Cause

  /// The URL of the request, without credentials.
  public let url: String

  /// The path of the file.
  public let path: String

  package init(_ cause: Cause, url: String, path: String) {
    self.cause = cause
    self.url = url
    self.path = path
  }

  /// The URL or file, what is wrong, and what to do.
  public var description: String {
    switch cause {
    case .cancelled:
      "\(url): the download was cancelled; the next one resumes it, unless its bytes were removed"
    case .transport(let error): error.description
    case .status(let status):
      "\(url): the server answers \(status); nothing is written to \(path)"
    case .tooManyRedirects(let maximum):
      "\(url): there are more than \(maximum) redirects; check for a loop"
    case .unusableRedirect(let location):
      "\(url): the redirect leads to \(location), which cannot be fetched; ask for another URL"
    case .method(let method): "\(url): \(method) cannot be downloaded; use GET"
    case .coding(let error): "\(url): the body cannot be decoded (\(error)); try again"
    case .wrongLength(let expected, let received):
      "\(url): \(received) bytes were received, but the server stated \(expected); try again"
    case .wrongDigest(let expected, let actual):
      "\(url): the file has \(actual), but should have \(expected); try again, and do not trust "
        + "the server if that fails, too"
    case .disturbed:
      "\(path): the hidden file beside it was removed or changed by others while it was downloaded; "
        + "try again"
    case .invalidPath:
      "\(path): no download can have this name; give one of up to 255 bytes that does not begin with "
        + "'.offlinecache-'"
    case .isDirectory: "\(path): a directory is there; choose another name"
    case .notAFile:
      "\(path): a device, a pipe or a socket is there, not a regular file; choose another name"
    case .fileExists:
      "\(path): a file is there that did not come from \(url), or was changed since; move it away, "
        + "or allow it to be replaced"
    case .othersFile(let name):
      "\(path): the file \(name) there belongs to another user, and only that user may remove "
        + "it; choose another folder, at best one of your own"
    case .file(.notFound): "\(path): its folder does not exist; make it, or correct the path"
    case .file(.wouldBlock):
      "\(path): it is being downloaded elsewhere; try again when that has ended"
    case .file(let error) where error.isOutOfDescriptors:
      "\(path): it cannot be opened (\(error)); allow more open files (ulimit -n), or fewer downloads "
        + "at once"
    case .file(let error) where error.isNoSpace:
      "\(path): it cannot be written (\(error)); free some space, and start it again: it resumes"
    case .file(let error) where error.isPermission:
      "\(path): it cannot be used (\(error)); check the owner and mode of it and its folder"
    case .file(let error):
      "\(path): it cannot be used (\(error)); check its folder, its rights and the space on the disk"
    }
  }
}
