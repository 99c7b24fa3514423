import CLibrary
import CacheSystem
import Foundation

/// The folder that a run works in, and removes at its end.
final class Workspace {
  let path: String
  private var count = 0

  init(base: String?) throws {
    let parent = base ?? "/var/tmp"
    var template = Array("\(parent)/cachebench-XXXXXX".utf8CString)
    // Safety: mkdtemp changes the six letters in place and keeps the NUL.
    guard unsafe mkdtemp(&template) != nil else {
      throw BenchmarkError(
        "\(parent): cannot make a folder: \(SystemError(errno).description); choose another with --directory"
      )
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func makeDirectory(_ label: String) throws -> String {
    count += 1
    let directory = "\(path)/\(count)-\(label)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    return directory
  }

  func remove(_ directory: String) { try? FileManager.default.removeItem(atPath: directory) }
}
