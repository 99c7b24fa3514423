import CommandLineTools
import Synchronization

/// Writes the lines of a report to standard output, beside a line of progress. Several tasks may use
/// it at once.
final class ReportLines: Sendable {
  private let output = Mutex(Output.standard())
  private let progress: ProgressLine

  init(beside progress: ProgressLine) { self.progress = progress }

  /// Writes lines, which may stay in a buffer until ``flush()``.
  func write(_ lines: [String]) throws(OutputError) {
    try progress.aside { () throws(OutputError) in
      try output.withLock { output throws(OutputError) in
        for line in lines { try output.writeLine(line) }
      }
    }
  }

  func flush() throws(OutputError) {
    try output.withLock { output throws(OutputError) in try output.flush() }
  }
}
