import CacheClient
import CacheFormat
import CacheStore
import CommandLineTools
import HTTPCaching
import Synchronization

enum FetchOutcome: Sendable {
  /// The body was received: the word for its source, the HTTP status, its length in bytes, perhaps why
  /// it is not stored, and a note if there is more to report.
  case done(String, Int, UInt64, why: String? = nil, note: String?)
  /// The answer has a status other than success; with the message.
  case refused(Int, String)
  /// There is no response, or it could not be stored; with a note if there is more to report.
  case failed(any Error, note: String? = nil)
}

/// Prints the outcome of each fetch, counts the outcomes, and decides the exit status. Several
/// tasks may use it at once.
final class FetchReport: Sendable {
  private struct Counts {
    var hits = 0
    var remote = 0
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
  private let lines: ReportLines
  private let start = ContinuousClock.now

  init(printsLines: Bool, printsSummary: Bool, isQuiet: Bool, progress: ProgressLine) {
    self.printsLines = printsLines
    self.printsSummary = printsSummary
    self.isQuiet = isQuiet
    self.progress = progress
    lines = ReportLines(beside: progress)
  }

  /// Adds one outcome.
  func add(_ outcome: FetchOutcome, _ address: String) throws(OutputError) {
    switch outcome {
    case .done(let word, let status, let length, let why, let note):
      counts.withLock { counts in
        counts.bytes += length
        switch word {
        case "hit", "valid", "stale", "local": counts.hits += 1
        case "remote": counts.remote += 1
        default: counts.fetched += 1
        }
      }
      if printsLines { try printLine(word, status, length, address, why) }
      if let note, !isQuiet { complain("\(terminalSafe(address)): \(terminalSafe(note))") }
    case .refused(let status, let words):
      counts.withLock { counts in
        if Refusal.isNotFound(status) { counts.notFound += 1 } else { counts.failed += 1 }
      }
      complain("\(terminalSafe(address)): \(words)")
    case .failed(let error, let note):
      counts.withLock { counts in
        if isNotStored(error) { counts.notFound += 1 } else { counts.failed += 1 }
      }
      // The text of a store error names the store, but not the URL.
      let subject =
        error is StoreError ? "\(terminalSafe(address)): it was fetched but not stored: " : ""
      complain("\(subject)\(OptionAdvice.text(error))\(note.map { "; \($0)" } ?? "")")
    }
  }

  /// Writes what is in the buffer.
  func flush() throws(OutputError) { try lines.flush() }

  func finish() -> ExitStatus {
    let counts = counts.withLock { $0 }
    if printsSummary {
      let seconds = ((ContinuousClock.now - start) / .milliseconds(10)).rounded() / 100
      let remote = counts.remote > 0 ? "\(counts.remote) from the tier, " : ""
      printMessage(
        "\(counts.fetched) fetched, \(remote)\(counts.hits) from the store, "
          + "\(counts.notFound) not found, \(counts.failed) failed; \(ByteCount(counts.bytes)) in \(seconds) s"
      )
    }
    if counts.failed > 0 { return .failure }
    return counts.notFound > 0 ? .notFound : .success
  }

  private func printLine(
    _ word: String, _ status: Int, _ length: UInt64, _ address: String, _ why: String?
  ) throws(OutputError) {
    let size = pad(ByteCount(length).description, to: 11)
    let column = word + String(repeating: " ", count: max(0, 6 - word.count))
    let end = why.map { "  (\(terminalSafe($0)))" } ?? ""
    try lines.write(["\(column)  \(status)  \(size)  \(terminalSafe(address))\(end)"])
  }

  private func complain(_ text: String) { progress.message("offlinecache: \(text)") }

  /// Returns whether an error only means that the response is not in the store. Damage is more than
  /// that.
  private func isNotStored(_ error: any Error) -> Bool {
    guard let error = error as? ClientError, case .notStored(let reason) = error.cause else {
      return false
    }
    return reason != .damaged && reason != .closed
  }
}
