import Foundation
import Testing
import ToolTesting

/// The executable `storeprobe`, run as a process whose output goes to a file.
///
/// It is found beside the test bundle, where the build puts both.
final class ProbeProcess: Sendable {
  let number: pid_t

  /// The path of the executable, or nil where it has not been built.
  static let executable: String? = try? ToolRun.executable("storeprobe")

  /// Says why a test that needs the executable is left out.
  static let isMissing: Comment = "the executable storeprobe is not beside the test bundle"

  /// Starts the executable; its standard output is appended to `output`.
  ///
  /// - Parameters:
  ///   - bug: the bug that is planted in it; see `Tools/storeprobe/PlantedBug.swift`.
  ///   - wrapper: words that run the command behind them.
  init(
    _ arguments: [String], output: String, bug: String = "", through wrapper: [String] = []
  ) throws {
    let path = try #require(Self.executable)
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(
      &actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    // The variable stands before the program: changing our own environment would be a race.
    let program = "/usr/bin/env"
    let given = [program, "STOREPROBE_BUG=\(bug)"] + wrapper + [path]
    var words = unsafe (given + arguments).map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var number: pid_t = 0
    let error = unsafe posix_spawn(&number, program, &actions, nil, words, environ)
    try #require(error == 0, "posix_spawn fails with \(error)")
    self.number = number
  }

  /// Ends the process at once, wherever it is.
  func kill() { _ = Foundation.kill(number, SIGKILL) }

  /// Waits for the end.
  ///
  /// - Returns: the exit code, or the number of the signal as a negative number.
  func wait() -> Int32 {
    var status: Int32 = 0
    while unsafe waitpid(number, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7f
    return signal == 0 ? status >> 8 & 0xff : -signal
  }

  /// Waits for a while, to kill at a moment that a seed decides.
  static func pause(microseconds: UInt64) {
    var time = timespec()
    time.tv_sec = Int(microseconds / 1_000_000)
    time.tv_nsec = Int(microseconds % 1_000_000) * 1000
    unsafe _ = nanosleep(&time, nil)
  }

  /// Runs the executable to its end.
  static func run(
    _ arguments: [String], output: String, bug: String = "", through wrapper: [String] = []
  ) throws -> Int32 {
    try ProbeProcess(arguments, output: output, bug: bug, through: wrapper).wait()
  }
}
