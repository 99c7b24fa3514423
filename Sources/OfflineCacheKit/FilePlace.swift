import CLibrary
import CacheSystem

/// The place of a file to be downloaded. A link there is replaced itself, whatever it leads to.
struct FilePlace: Sendable {
  let path: String

  /// Returns the path of a file or folder.
  ///
  /// - Throws: `unsupportedURL` for a URL that is not a file URL.
  static func path(of file: URL) throws(URLError) -> String {
    guard file.isFileURL else {
      throw URLError(
        .unsupportedURL, url: file,
        cause: "\(file): it is no URL of a file; make it with URL(fileURLWithPath:)")
    }
    return file.absoluteURL.path
  }

  /// Checks the path of a file.
  ///
  /// - Throws: `unsupportedURL` for a URL that is not a file URL, `fileIsDirectory`;
  ///   `cannotCreateFile` for the name of a hidden file of downloads, and for a device, a pipe or a
  ///   socket, which would be replaced.
  init(_ file: URL) throws(URLError) {
    path = try Self.path(of: file)
    guard !DownloadRequest.isReserved(UserPath.split(path).name) else {
      throw URLError(
        .cannotCreateFile, url: nil,
        cause: "\(path): hidden files of downloads have such names; choose another name",
        underlying: SystemError(EINVAL))
    }
    // The attributes of a link are its own.
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    switch attributes?[.type] as? FileAttributeType {
    case .typeRegular?, .typeSymbolicLink?, nil: break
    case .typeDirectory?:
      throw URLError(
        .fileIsDirectory, url: nil, cause: "\(path): a directory is there; choose another name",
        underlying: SystemError(EISDIR))
    default:
      throw URLError(
        .cannotCreateFile, url: nil,
        cause: "\(path): a device, a pipe or a socket is there, not a regular file; choose another "
          + "name", underlying: SystemError(EINVAL))
    }
  }
}
