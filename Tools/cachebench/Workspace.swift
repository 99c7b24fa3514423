import CLibrary
import CacheSystem
import CommandLineTools
import Foundation

/// The folder that a run works in, and removes at its end.
final class Workspace {
  /// The absolute path of the folder.
  let path: String
  private let isKept: Bool
  private var count = 0

  /// Makes a new folder below `base`, or below the user's cache folder, or below /var/tmp.
  init(base: String?, isKept: Bool) throws(BenchmarkError) {
    let parent = base ?? Self.defaultBase()
    if FileTree.isInMemory(parent) {
      progress("warning: \(parent) lies in memory; the numbers say nothing about a disk")
    }
    var template = Array("\(parent)/cachebench-XXXXXX".utf8CString)
    // Safety: mkdtemp changes the six letters in place and keeps the NUL.
    guard unsafe mkdtemp(&template) != nil else {
      throw .failed(
        "\(parent): cannot make a folder: \(SystemError(errno).description); choose another with --directory"
      )
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.isKept = isKept
  }

  /// Makes a new folder for one system.
  func makeDirectory(_ label: String) throws(BenchmarkError) -> String {
    count += 1
    let directory = "\(path)/\(count)-\(label)"
    try FileTree.makeDirectory(directory)
    return directory
  }

  /// Removes the folder of one system, unless all are kept.
  func remove(_ directory: String) {
    if !isKept { try? FileManager.default.removeItem(atPath: directory) }
  }

  /// Removes everything, unless it is kept.
  func removeAll() {
    if isKept {
      progress("kept \(path)")
    } else {
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  private static func defaultBase() -> String {
    var candidates: [String] = []
    if let cache = Argument.environment("XDG_CACHE_HOME")?.text { candidates.append(cache) }
    if let home = Argument.environment("HOME")?.text { candidates.append(home + "/.cache") }
    for candidate in candidates {
      // Safety: the path is passed as a NUL-terminated string for the call.
      let isWritable = unsafe access(candidate, W_OK | X_OK) == 0
      if candidate.hasPrefix("/"), isWritable, !FileTree.isInMemory(candidate) { return candidate }
    }
    return "/var/tmp"
  }
}
