import CacheSystem
import CommandLineTools
import HTTPSemantics

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The place where the bodies of a fetch are written, besides the store.
enum FetchTarget: Sendable {
  /// No other place.
  case none
  /// One body goes to a file, or to standard output for `-`.
  case file(Argument)
  /// Each body goes to its own file below a folder; see ``OutputPath``.
  case folder(Argument)

  /// Whether bodies go to standard output. Nothing else may be written there then.
  var isStandardOutput: Bool {
    if case .file("-") = self { return true }
    return false
  }

  /// Opens the output for the body of a URL.
  ///
  /// - Throws: ``OutputError``.
  func open(for url: NormalizedURL) throws(OutputError) -> OutputFile? {
    switch self {
    case .none: return nil
    case .file(let path): return try OutputFile(path)
    case .folder(let folder):
      let path = folder.bytes + [slash] + OutputPath.path(for: url)
      try Self.makeFolders(above: path)
      return try OutputFile(Argument(bytes: path))
    }
  }

  /// Creates the missing folders above a file (mkdir(2)).
  static func makeFolders(above path: [UInt8]) throws(OutputError) {
    var missing: [ArraySlice<UInt8>] = []
    var folder = path[...]
    // Beginning with the innermost folder, so that the usual case, an existing folder, takes one
    // call.
    while let end = folder.lastIndex(of: slash), end > 0 {
      folder = folder[..<end]
      let failure = make(folder)
      if failure == 0 || failure == EEXIST { break }
      guard failure == ENOENT else { throw error(folder, failure) }
      missing.append(folder)
    }
    for folder in missing.reversed() {
      let failure = make(folder)
      // Another task may have created it in the meantime.
      if failure != 0, failure != EEXIST { throw error(folder, failure) }
    }
  }

  private static func make(_ folder: ArraySlice<UInt8>) -> Int32 {
    // Safety: `withPath` passes a zero-terminated copy that lives during the call.
    unsafe withPath(Array(folder)) { unsafe mkdir($0, 0o777) == 0 ? 0 : errno }
  }

  private static func error(_ folder: ArraySlice<UInt8>, _ number: Int32) -> OutputError {
    OutputError(path: String(decoding: folder, as: UTF8.self), errno: number)
  }
}
