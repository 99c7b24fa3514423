import CLibrary
import CacheSystem
import Foundation
import HTTPDownloads

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct FilePlace: Sendable {
  /// The path of the file. For a link, the path of its target, because the target is replaced, not
  /// the link. A link without a target is replaced itself.
  let path: String

  /// Checks the path of a file.
  ///
  /// - Throws: `unsupportedURL` for a URL that is not a file URL, `fileIsDirectory`;
  ///   `cannotCreateFile` for a link that another user may have planted, for the name of a hidden file
  ///   of downloads, and for a device, a pipe or a socket, which would be replaced.
  init(_ file: URL) throws(URLError) {
    guard file.isFileURL else {
      throw URLError(
        .unsupportedURL, url: file,
        cause: "\(file): it is no URL of a file; make it with URL(fileURLWithPath:)")
    }
    guard !UserPath.isPlantedLink(file.path) else {
      throw URLError(
        .cannotCreateFile, url: nil,
        cause: "\(file.path): it is a link of another user, which may lead to any file; choose "
          + "another folder, at best one of your own", underlying: SystemError.othersFile)
    }
    path = file.resolvingSymlinksInPath().path
    guard !DownloadRequest.isReserved(UserPath.split(path).name) else {
      throw URLError(
        .cannotCreateFile, url: nil,
        cause: "\(path): hidden files of downloads have such names; choose another name",
        underlying: SystemError(EINVAL))
    }
    switch try? RealFileSystem().status(userPath: path).kind {
    case .directory:
      throw URLError(
        .fileIsDirectory, url: nil, cause: "\(path): a directory is there; choose another name",
        underlying: SystemError(EISDIR))
    case .other:
      throw URLError(
        .cannotCreateFile, url: nil,
        cause: "\(path): a device, a pipe or a socket is there, not a regular file; choose another "
          + "name", underlying: SystemError(EINVAL))
    case .file, .link, nil: break
    }
  }
}
