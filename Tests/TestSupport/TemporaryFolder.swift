public import Foundation

/// An empty folder for one test, which is removed with all that is in it when the test lets it go.
public final class TemporaryFolder: Sendable {
  /// The path, without a slash at the end.
  public let path: String

  /// The path as a URL.
  public var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

  /// Makes a folder that only this user may enter. Ends the program if it cannot be made.
  public init() {
    path = FileManager.default.temporaryDirectory.path + "/offlinecache-\(UUID().uuidString)"
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    } catch {
      fatalError("\(path): \(error); set TMPDIR to a directory that can be written to")
    }
  }

  deinit {
    // The background thread of a store that the test has just released may add files meanwhile.
    for _ in 0..<100 where FileManager.default.fileExists(atPath: path) {
      try? FileManager.default.removeItem(atPath: path)
    }
  }
}
