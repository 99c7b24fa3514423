import CacheSystem
import CommandLineTools

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a temporary file beside it, which is renamed at the end: an interrupted command
/// leaves the old file, never half of the new one. What is no regular file (a pipe, `/dev/null`) is
/// written in place, for it must not be replaced.
final class OutputFile {
  private let path: [UInt8]
  private let temporary: [UInt8]?
  private let output: Output
  private var isFinished = false

  /// Opens standard output for `-`, else a temporary file beside the path.
  ///
  /// - Throws: ``OutputError``.
  init(_ argument: Argument) throws(OutputError) {
    if argument == "-" {
      (path, temporary, output) = ([], nil, .standard())
      return
    }
    if UserPath.isPlantedLink(String(decoding: argument.bytes, as: UTF8.self)) {
      throw OutputError(path: argument.description, errno: SystemError.othersFile.code)
    }
    let place = Self.place(of: argument.bytes)
    path = place.path
    temporary = place.isReplaceable ? Self.temporaryName(beside: place.path) : nil
    let flags = temporary == nil ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
    let name = temporary ?? place.path
    // Safety: `withPath` passes a zero-terminated copy that lives during the call.
    let (descriptor, number) = unsafe withPath(name) { start in
      let opened = unsafe open(start, flags | O_CLOEXEC, 0o666)
      return (opened, errno)
    }
    if descriptor < 0 { throw OutputError(path: argument.description, errno: number) }
    output = Output(descriptor: descriptor, name: argument.description)
  }

  deinit {
    guard output.descriptor > 2 else { return }
    close(output.descriptor)
    // Safety: `withPath` passes a zero-terminated copy that lives during the call.
    if !isFinished, let temporary { unsafe withPath(temporary) { _ = unsafe unlink($0) } }
  }

  /// Writes bytes.
  func write(_ bytes: [UInt8]) throws(OutputError) { try output.write(bytes) }

  /// Makes the file appear under its name.
  func finish() throws(OutputError) {
    try output.flush()
    guard let temporary else { return }
    // Safety: `withPath` passes zero-terminated copies that live during the call.
    let number = unsafe withPath(temporary) { from in
      unsafe withPath(path) { to in unsafe rename(from, to) == 0 ? 0 : errno }
    }
    if number != 0 {
      throw OutputError(path: String(decoding: path, as: UTF8.self), errno: number)
    }
    isFinished = true
  }

  /// Follows links to the file that is meant, and tells whether it may be replaced.
  private static func place(of path: [UInt8]) -> (path: [UInt8], isReplaceable: Bool) {
    var status = stat()
    // Safety: `withPath` passes a zero-terminated copy; stat fills the local.
    guard unsafe withPath(path, { unsafe stat($0, &status) }) == 0 else { return (path, true) }
    guard status.st_mode & S_IFMT == S_IFREG else { return (path, false) }
    // Safety: realpath returns a zero-terminated string of its own, freed here after the copy.
    let resolved = unsafe withPath(path) { start -> [UInt8]? in
      guard let real = unsafe realpath(start, nil) else { return nil }
      defer { unsafe free(real) }
      return unsafe Array(UnsafeRawBufferPointer(start: real, count: strlen(real)))
    }
    return (resolved ?? path, true)
  }

  /// Returns a hidden name in the folder of a path, with 64 random bits and short enough for any name.
  private static func temporaryName(beside path: [UInt8]) -> [UInt8] {
    let folder = path.lastIndex(of: slash).map { path[...$0] } ?? []
    let unique = String(UInt64.random(in: .min ... .max), radix: 36)
    return folder + Array(".offlinecache-\(unique).part".utf8)
  }
}

/// Passes a path to a system call, as a zero-terminated string.
func withPath<Result>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
  // Safety: the copy ends with a zero, is not empty, and lives during the call; CChar is one byte.
  unsafe (path + [0]).withUnsafeBytes { raw in
    unsafe body(raw.assumingMemoryBound(to: CChar.self).baseAddress!)
  }
}
