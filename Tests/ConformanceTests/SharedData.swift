import Foundation

/// Finds data that is not part of the package.
enum SharedData {
  /// Gives the root of the package.
  static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Gives the path of the public suite's cases, or nil where they are not there.
  static let publicCases: String? = {
    let root =
      ProcessInfo.processInfo.environment["OFFLINECACHE_SHARED"].map { URL(filePath: $0) }
      ?? package.deletingLastPathComponent().appending(path: "shared")
    let path = root.appending(path: "conformance/cache-tests.json").path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  /// Gives the paths of our own cases, in the order of their names.
  static func ownCases() throws -> [String] {
    let folder = package.appending(path: "Tests/ConformanceCases")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".json") }.sorted().map { folder.appending(path: $0).path }
  }
}
