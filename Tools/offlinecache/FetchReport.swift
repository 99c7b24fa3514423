import CacheClient
import CacheStore
import CommandLineTools
import HTTPCaching
import Synchronization

/// How the fetch of one URL went.
enum FetchOutcome: Sendable {
  /// The body came: what became of it, the status, its bytes, and what the word does not tell.
  case done(String, Int, UInt64, note: String?)
  /// The server answered with a status that is no success, and with `Location` where it redirects.
  case refused(Int, String?)
  /// There is no answer, or it could not be kept.
  case failed(any Error)
}

/// Prints how each fetch went, counts, and decides the exit status. Several tasks may use it.
final class FetchReport: Sendable {
  private struct Counts {
    var hits = 0
    var fetched = 0
    var notFound = 0
    var failed = 0
    var bytes: UInt64 = 0
  }

  private let printsLines: Bool
  private let printsSummary: Bool
  private let isQuiet: Bool
  private let progress: ProgressLine
  private let counts = Mutex(Counts())
  private let output = Mutex(Output.standard())
  private let start = ContinuousClock.now

  /// Creates an empty report.
  init(printsLines: Bool, printsSummary: Bool, isQuiet: Bool, progress: ProgressLine) {
    self.printsLines = printsLines
    self.printsSummary = printsSummary
    self.isQuiet = isQuiet
    self.progress = progress
  }

  /// Adds one outcome.
  ///
  /// - Throws: ``OutputError`` when standard output fails.
  func add(_ outcome: FetchOutcome, _ address: String) throws(OutputError) {
    switch outcome {
    case .done(let word, let status, let length, let note):
      counts.withLock { counts in
        counts.bytes += length
        if ["hit", "valid", "stale", "local"].contains(word) {
          counts.hits += 1
        } else {
          counts.fetched += 1
        }
      }
      if printsLines { try printLine(word, status, length, address) }
      if let note, !isQuiet { complain("\(terminalSafe(address)): \(terminalSafe(note))") }
    case .refused(let status, let location):
      counts.withLock { counts in
        if Refusal.isNotFound(status) { counts.notFound += 1 } else { counts.failed += 1 }
      }
      complain("\(terminalSafe(address)): \(Refusal.text(status, location))")
    case .failed(let error):
      counts.withLock { counts in
        if isNotStored(error) { counts.notFound += 1 } else { counts.failed += 1 }
      }
      // What the store says names the store alone.
      let subject = error is StoreError ? "\(terminalSafe(address)): it came and is not kept: " : ""
      complain("\(subject)\(terminalSafe("\(error)"))")
    }
  }

  /// Prints the sum and returns the exit status.
  ///
  /// - Throws: ``OutputError`` when standard output fails.
  func finish() throws(OutputError) -> ExitStatus {
    try output.withLock { output throws(OutputError) in try output.flush() }
    let counts = counts.withLock { $0 }
    if printsSummary {
      let seconds = ((ContinuousClock.now - start) / .milliseconds(10)).rounded() / 100
      printMessage(
        "\(counts.fetched) fetched, \(counts.hits) from the store, \(counts.notFound) not found, "
          + "\(counts.failed) failed; \(ByteCount(counts.bytes)) in \(seconds) s")
    }
    if counts.failed > 0 { return .failure }
    return counts.notFound > 0 ? .notFound : .success
  }

  private func printLine(
    _ word: String, _ status: Int, _ length: UInt64, _ address: String
  ) throws(OutputError) {
    let size = ByteCount(length).description
    let padding = String(repeating: " ", count: max(0, 11 - size.count))
    let column = word + String(repeating: " ", count: max(0, 6 - word.count))
    try progress.aside { () throws(OutputError) in
      try output.withLock { output throws(OutputError) in
        try output.writeLine("\(column)  \(status)  \(padding)\(size)  \(terminalSafe(address))")
      }
    }
  }

  private func complain(_ text: String) { progress.message("offlinecache: \(text)") }

  /// Tells whether an error says no more than that the store does not have it; damage says more.
  private func isNotStored(_ error: any Error) -> Bool {
    guard let error = error as? ClientError, case .notStored(let reason) = error.cause else {
      return false
    }
    return reason != .damaged
  }
}
