import CommandLineTools
import Foundation

/// What a child process is started for; the first argument of its command line.
enum ChildRole: String {
  case open = "child-open"
  case large = "child-large"

  func run(_ arguments: [String]) throws {
    switch self {
    case .open: try runOpen(arguments)
    case .large: try runLarge(arguments)
    }
  }
}

/// Runs this executable in a role, and returns the numbers that it prints.
func runChild(_ role: ChildRole, _ arguments: [String], numbers count: Int) throws -> [UInt64] {
  let process = Process()
  #if canImport(Darwin)
    process.executableURL = URL(filePath: CommandLine.arguments[0])
  #else
    process.executableURL = URL(filePath: "/proc/self/exe")
  #endif
  process.arguments = [role.rawValue] + arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  // It is in a process group of its own, out of the reach of Ctrl-C.
  Interruption.onRequest { if process.isRunning { process.terminate() } }
  let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
  process.waitUntilExit()
  try Interruption.check()
  let numbers = output.split(separator: 10).first?.split(separator: 32)
    .compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
  guard let numbers, numbers.count == count else {
    throw BenchmarkError("the process '\(role.rawValue)' failed; its message stands above")
  }
  return numbers
}
