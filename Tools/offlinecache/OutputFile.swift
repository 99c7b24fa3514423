import CLibrary
import CacheClient
import CacheSystem
import CommandLineTools

/// A file that appears under its name only when it is complete.
///
/// An interrupted command leaves the old file unchanged (`ReplacementFile`). A file that is not
/// regular (a pipe, `/dev/null`) is written in place, because it must not be replaced.
final class OutputFile {
  private let path: [UInt8]
  private let replacement: ReplacementFile?
  private let output: Output

  /// Opens standard output for `-`, else a temporary file beside the path.
  init(_ argument: Argument) throws(OutputError) {
    if argument == "-" {
      (path, replacement, output) = ([], nil, .standard())
      return
    }
    if let number = Self.openDescriptor(argument.description) {
      let copy = dup(number)
      if copy < 0 { throw OutputError(path: argument.description, errno: errno) }
      (path, replacement) = ([], nil)
      output = Output(descriptor: copy, name: argument.description)
      return
    }
    try checkOutput(argument)
    let place = Self.place(of: argument.bytes)
    path = place.path
    let descriptor: Int32
    do throws(SystemError) {
      if place.isReplaceable {
        let file = try Downloader.replacement(at: place.path)
        (replacement, descriptor) = (file, file.descriptor)
      } else {
        (replacement, descriptor) = (nil, try openPath(place.path, O_WRONLY | O_CLOEXEC))
      }
    } catch {
      throw OutputError(path: argument.description, errno: error.code)
    }
    output = Output(descriptor: descriptor, name: argument.description)
  }

  deinit {
    if replacement == nil, output.descriptor > 2 { close(output.descriptor) }
  }

  func write(_ bytes: [UInt8]) throws(OutputError) { try output.write(bytes) }

  /// Makes the file appear under its name.
  func finish() throws(OutputError) {
    try output.flush()
    do throws(SystemError) {
      try replacement?.moveIntoPlace()
    } catch {
      throw OutputError(path: String(decoding: path, as: UTF8.self), errno: error.code)
    }
  }

  /// Returns the number of the open descriptor that a path names, such as `/dev/stdout`; `nil` for any
  /// other path. The caller writes to the descriptor, and must not replace the file behind it.
  private static func openDescriptor(_ path: String) -> Int32? {
    if path == "/dev/stdout" { return 1 }
    if path == "/dev/stderr" { return 2 }
    for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
      return Int32(path.dropFirst(folder.count))
    }
    return nil
  }

  /// Follows links to the target file, and returns whether that may be replaced.
  private static func place(of path: [UInt8]) -> (path: [UInt8], isReplaceable: Bool) {
    guard let kind = fileKind(path) else { return (path, true) }
    guard kind == .file else { return (path, false) }
    return (UserPath.real(path) ?? path, true)
  }
}

/// Returns the kind of a file, or `nil` if there is none; follows links (stat(2)).
func fileKind(_ path: [UInt8]) -> FileKind? {
  try? RealFileSystem().status(userPath: path).kind
}
