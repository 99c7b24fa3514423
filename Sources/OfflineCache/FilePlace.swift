import CacheSystem
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Holds the path of a file that is to be written.
struct FilePlace: Sendable {
  /// The file behind a link, which is replaced in place of the link.
  let path: String

  /// Looks at the place.
  ///
  /// - Throws: `unsupportedURL` for what is no file, `fileIsDirectory`.
  init(_ file: URL) throws(URLError) {
    guard file.isFileURL else {
      throw URLError(
        .unsupportedURL, url: file, cause: "\(file): it is no URL of a file", underlying: nil)
    }
    path = file.resolvingSymlinksInPath().path
    var isDirectory: ObjCBool = false
    // Safety: the local is written during the call alone.
    let exists = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    if exists, isDirectory.boolValue {
      throw URLError(
        .fileIsDirectory, url: nil, cause: "\(path): a directory is there; choose another name",
        underlying: SystemError(EISDIR))
    }
  }
}
