import Foundation
import Testing
import ToolTesting

/// The executable `storeprobe`, run as a process.
///
/// It is found beside the test bundle, where the build puts both.
enum ProbeProcess {
  /// The path of the executable, or nil where it has not been built.
  static let executable: String? = try? ToolRun.executable("storeprobe")

  /// Says why a test that needs the executable is left out.
  static let isMissing: Comment = "the executable storeprobe is not beside the test bundle"

  /// Starts the executable; its standard output is appended to `output`.
  ///
  /// - Parameters:
  ///   - bug: the bug that is planted in it; see `Tools/storeprobe/PlantedBug.swift`.
  ///   - wrapper: words that run the command behind them.
  static func start(
    _ arguments: [String], output: String, bug: String = "", through wrapper: [String] = []
  ) throws -> Child {
    let file = try openFile(output, O_WRONLY | O_CREAT | O_APPEND)
    defer { close(file) }
    return try start(arguments, output: file, bug: bug, through: wrapper)
  }

  /// Starts the executable with an open descriptor as its standard output.
  private static func start(
    _ arguments: [String], output: Int32, bug: String = "", through wrapper: [String] = []
  ) throws -> Child {
    // The variable stands before the program: changing our own environment would be a race.
    let words = ["STOREPROBE_BUG=\(bug)"] + wrapper + [try #require(executable)] + arguments
    return try Child("/usr/bin/env", words.map { Array($0.utf8) }, descriptors: [0, output])
  }

  /// Runs the executable to its end.
  static func run(
    _ arguments: [String], output: String, bug: String = "", through wrapper: [String] = []
  ) throws -> Int32 {
    try start(arguments, output: output, bug: bug, through: wrapper).wait()
  }

  /// Runs the executable, and kills it once it has said so many bytes.
  ///
  /// - Parameters:
  ///   - output: what it says is appended to this file.
  ///   - path: what has to be there, too.
  /// - Returns: whether it was still running.
  static func kill(
    _ arguments: [String], output: String, afterBytes count: Int, whenThereIs path: String = "/"
  ) throws -> Bool {
    let pipe = try ToolTesting.Pipe()
    defer { close(pipe.reader) }
    let child = try start(arguments, output: pipe.writer)
    close(pipe.writer)
    var said: [UInt8] = []
    while said.count < count {
      let piece = try read(pipe.reader, atMost: count - said.count)
      if piece.isEmpty { break }
      said += piece
    }
    // Until it has opened its store nothing is said that could be waited for.
    try child.wait { exists(path) }
    child.send(SIGKILL)
    said += try readAll(pipe.reader)
    let file = try openFile(output, O_WRONLY | O_CREAT | O_APPEND)
    defer { close(file) }
    try writeAll(said, to: file)
    return try child.wait() == 1000 + SIGKILL
  }
}
