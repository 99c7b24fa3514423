import Foundation
import TestSupport

/// A folder with files for substitutes; goes away with it.
final class SubstituteFolder: Sendable {
  private let folder = TemporaryFolder()

  var path: String { folder.path }

  /// Writes a file and returns its path; folders on the way are made. The time of change is in 2026.
  @discardableResult
  func write(_ name: String, _ text: String, modified: Int = 1_790_000_000) throws -> String {
    try write(name, Array(text.utf8), modified: modified)
  }

  @discardableResult
  func write(_ name: String, _ bytes: [UInt8], modified: Int = 1_790_000_000) throws -> String {
    let url = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: TimeInterval(modified))],
      ofItemAtPath: url.path)
    return url.path
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: "\(path)/\(name)")
  }
}
