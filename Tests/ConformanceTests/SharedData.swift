import Foundation
import Testing

/// Finds the cases: our own in the package, the public ones where `OFFLINECACHE_SHARED` says.
enum SharedData {
  /// Gives the root of the package.
  static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Gives the path of the public suite's cases, or nil where they are not there.
  static let publicCases: String? = {
    guard let shared = ProcessInfo.processInfo.environment["OFFLINECACHE_SHARED"] else {
      return nil
    }
    let path = URL(filePath: shared).appending(path: "conformance/cache-tests.json").path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  /// Says how the tests of the public cases are run.
  static let hint: Comment = "set OFFLINECACHE_SHARED to the folder with conformance"

  /// Gives the paths of our own cases, in the order of their names.
  static func ownCases() throws -> [String] {
    let folder = package.appending(path: "Tests/ConformanceCases")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".json") }.sorted().map { folder.appending(path: $0).path }
  }
}
