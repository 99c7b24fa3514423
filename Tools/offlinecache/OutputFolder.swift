import CLibrary
import CacheSystem
import CommandLineTools
import HTTPSemantics

/// The folder of `fetch --output-dir`: each body has its own file below it, see ``OutputPath``.
///
/// A server may have both `/a` and `/a/b`. Where a file has the name of a folder, or a folder that
/// of a file, what comes second gets `%` after its name. No other URL has such a name.
final class OutputFolder: Sendable {
  private let path: [UInt8]
  /// The files opened so far, which appear under their names later.
  private let files = Lock<Set<[UInt8]>>([])

  /// - Throws: `OutputError` if the folder is in that of a store, or a part of its path is planted.
  init(_ path: Argument) throws(OutputError) {
    try checkOutput(path)
    self.path = path.bytes
  }

  /// Opens the file for the body of a URL, and creates the folders above it.
  ///
  /// - Throws: `OutputError`, also if another user may have put one of the folders there.
  func open(for url: NormalizedURL) throws(OutputError) -> OutputFile {
    let parts = OutputPath.path(for: url).split(separator: slash)
    let file = try files.withLock { files throws(OutputError) -> [UInt8] in
      var file = path
      for part in parts.dropLast() {
        file += [slash] + part
        let kind = fileKind(file)
        if files.contains(file) || (kind != nil && kind != .directory) { file.append(Self.mark) }
        if fileKind(file) != .directory { try Self.makeFolders(file) }
        // Only now, as a link may also appear in place of a missing folder.
        if UserPath.isPlanted(file) {
          throw OutputError(
            path: Argument(bytes: path).description, planted: Argument(bytes: file))
        }
      }
      file += [slash] + (parts.last ?? [])
      if fileKind(file) == .directory { file.append(Self.mark) }
      files.insert(file)
      return file
    }
    return try OutputFile(Argument(bytes: file))
  }

  private static let mark = UInt8(ascii: "%")

  /// Creates a folder, and those above it that are missing (mkdir(2)).
  static func makeFolders(_ path: [UInt8]) throws(OutputError) {
    // Beginning with the innermost folder, so that the usual case, an existing folder, takes one
    // call.
    var failure = make(path)
    let parent = UserPath.split(path).folder
    if failure == ENOENT, parent != path {
      try makeFolders(parent)
      failure = make(path)
    }
    // Another task may have created it in the meantime.
    guard failure == 0 || failure == EEXIST else {
      throw OutputError(path: String(decoding: path, as: UTF8.self), errno: failure)
    }
  }

  private static func make(_ folder: [UInt8]) -> Int32 {
    // Safety: `withPath` passes a zero-terminated copy that lives during the call.
    unsafe withPath(folder) { unsafe mkdir($0, 0o777) == 0 ? 0 : errno }
  }
}
