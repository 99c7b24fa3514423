import CLibrary
@_exported public import TestSupport
import Testing

/// What a finished run of a tool left.
package struct ToolResult: Sendable {
  /// The exit status, or 1000 and the number of the signal that ended the run.
  package var status: Int32
  /// What went to standard output.
  package var output: [UInt8]
  /// What went to standard error.
  package var errors: String

  /// Standard output as text, for what must be text.
  package var text: String { String(decoding: output, as: UTF8.self) }
  /// The lines of standard output, the last line feed left out.
  package var lines: [String] { text.split(separator: "\n").map(String.init) }
}

/// A temporary folder with a store, and the tools to run on it. Removed with its last reference.
package final class ToolRun: Sendable {
  private let temporary = TemporaryFolder()

  /// Makes the folder.
  package init() {}

  package var folder: String { temporary.path }

  /// The path of the store.
  package var store: String { "\(folder)/store" }

  /// Runs `offlinecache` on the store and waits for its end.
  package func run(_ arguments: String..., input: [UInt8] = []) throws -> ToolResult {
    try run(bytes: arguments.map { Array($0.utf8) }, input: input)
  }

  /// Runs `offlinecache` with arguments that need not be text.
  package func run(bytes arguments: [[UInt8]], input: [UInt8] = []) throws -> ToolResult {
    try run(program: try words(arguments), input: input)
  }

  /// Runs any program, whose path is the first of the words.
  package func run(program words: [[UInt8]], input: [UInt8] = []) throws -> ToolResult {
    let inputPath = path("stdin-\(UInt64.random(in: 0 ... .max))")
    try write(input, to: inputPath)
    let source = try openFile(inputPath, O_RDONLY)
    defer { close(source) }
    return try start(program: words, input: source).finish()
  }

  /// Starts `offlinecache` with open descriptors as standard input and output; without an input it
  /// reads nothing.
  package func start(
    _ arguments: [[UInt8]], input: Int32? = nil, output: Int32? = nil
  ) throws -> RunningTool {
    try start(program: words(arguments), input: input, output: output)
  }

  private func words(_ arguments: [[UInt8]]) throws -> [[UInt8]] {
    [try ToolRun.executable(), "--store", store].map { Array($0.utf8) } + arguments
  }

  /// Starts any program with open descriptors as standard input and output.
  package func start(
    program words: [[UInt8]], input: Int32? = nil, output: Int32? = nil
  ) throws -> RunningTool {
    let source = try input ?? openFile("/dev/null", O_RDONLY)
    defer { if input == nil { close(source) } }
    let number = UInt64.random(in: 0 ... .max)
    let errorPath = path("stderr-\(number)")
    let outputPath = path("stdout-\(number)")
    let errors = try openFile(errorPath, O_WRONLY | O_CREAT | O_TRUNC)
    defer { close(errors) }
    let target = try output ?? openFile(outputPath, O_WRONLY | O_CREAT | O_TRUNC)
    defer { if output == nil { close(target) } }
    let child = try Child(
      String(decoding: words[0], as: UTF8.self), Array(words.dropFirst()),
      descriptors: [source, target, errors])
    return RunningTool(
      child: child, run: self, outputPath: output == nil ? outputPath : nil, errorPath: errorPath)
  }

  package func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Reads a whole file.
  package func read(_ path: String) throws -> [UInt8] {
    let descriptor = try openFile(path, O_RDONLY)
    defer { close(descriptor) }
    return try readAll(descriptor)
  }

  /// Writes a whole file.
  package func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = try openFile(path, O_WRONLY | O_CREAT | O_TRUNC)
    defer { close(descriptor) }
    try writeAll(bytes, to: descriptor)
  }

  /// Finds a tool beside the tests: in the folder of their image, or above it.
  package static func executable(_ name: String = "offlinecache") throws -> String {
    var path = try imagePath()[...]
    while let slash = path.lastIndex(of: "/") {
      path = path[..<slash]
      if exists("\(path)/\(name)") { return "\(path)/\(name)" }
    }
    throw MissingTool()
  }
}

/// Tells that a tool is not built beside the tests.
package struct MissingTool: Error {}

/// A run that has not ended yet; its last reference ends it.
package struct RunningTool {
  /// The process.
  package let child: Child
  fileprivate let run: ToolRun
  fileprivate let outputPath: String?
  fileprivate let errorPath: String

  /// What it has written to standard error until now.
  package var errors: String {
    get throws { String(decoding: try run.read(errorPath), as: UTF8.self) }
  }

  /// Waits for the end and collects what was written.
  package func finish() throws -> ToolResult {
    let status = try child.wait()
    return ToolResult(
      status: status, output: try outputPath.map(run.read) ?? [], errors: try errors)
  }
}
