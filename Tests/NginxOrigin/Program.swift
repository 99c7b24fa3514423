import Foundation

/// Runs programs of the system.
enum Program {
  /// Returns the path of a program; nil where it is not installed.
  static func find(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return (folders.map(String.init) + ["/usr/sbin", "/sbin"])
      .map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Starts a program whose words go to a file.
  static func start(_ name: String, _ arguments: [String], errors: URL) throws -> Process {
    let process = Process()
    guard let path = find(name) else { throw NginxFailure(what: "\(name) is not installed") }
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    try Data().write(to: errors)
    let file = try FileHandle(forWritingTo: errors)
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = file
    process.standardError = file
    try process.run()
    return process
  }

  /// Runs a program to its end, without blocking a thread of the tests.
  static func run(_ name: String, _ arguments: [String], errors: URL) async throws {
    let process = try start(name, arguments, errors: errors)
    while process.isRunning { try await Task.sleep(for: .milliseconds(2)) }
    guard process.terminationStatus == 0 else {
      let words = try? String(contentsOf: errors, encoding: .utf8)
      throw NginxFailure(what: "\(name) \(arguments.joined(separator: " ")): \(words ?? "")")
    }
  }
}
