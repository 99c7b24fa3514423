import Foundation
package import ToolTesting

/// A program of the system that runs, with what it says.
package struct Program: Sendable {
  package let child: Child
  /// What comes from standard output and standard error, in pieces, to the end of the program.
  package let words: AsyncStream<String>

  /// Returns the path of a program; nil where it is not installed.
  package static func find(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return (folders.map(String.init) + ["/usr/sbin", "/sbin"])
      .map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Starts a program with nothing else open; it reads from `input`, if that is given.
  package init(_ name: String, _ arguments: [String], input: Int32? = nil) throws {
    guard let path = Self.find(name) else { throw NginxFailure(what: "\(name) is not installed") }
    let pipe = try ToolTesting.Pipe()
    let nothing = try openFile("/dev/null", O_RDONLY)
    defer {
      close(nothing)
      close(pipe.writer)
    }
    let (words, continuation) = AsyncStream.makeStream(of: String.self)
    // What nobody listens to is read, too, so that the program can go on.
    Thread.detachNewThread {
      while let piece = try? read(pipe.reader, atMost: 4096), !piece.isEmpty {
        continuation.yield(String(decoding: piece, as: UTF8.self))
      }
      continuation.finish()
      close(pipe.reader)
    }
    self.words = words
    child = try Child(
      path, arguments.map { Array($0.utf8) },
      descriptors: [input ?? nothing, pipe.writer, pipe.writer])
  }

  /// Runs a program to its end, without blocking a thread of the tests.
  static func run(_ name: String, _ arguments: [String]) async throws {
    let program = try Program(name, arguments)
    let words = await program.words.reduce(into: "") { $0 += $1 }
    guard try program.child.wait() == 0 else {
      throw NginxFailure(what: "\(name) \(arguments.joined(separator: " ")): \(words)")
    }
  }
}
