import CommandLineTools
import StoreChecking

struct Verdict {
  let argument: Argument
  let request: CheckRequest
  var earlier: ResumeState?
  /// The report of a complete check, or `nil` if the check has not come to its end.
  var report: CheckReport?
  var error: CheckError?
  /// The findings of this run and of the earlier runs of a resumed check.
  private(set) var tally: Tally = [:]
  private(set) var shown: [FindingKind: [Finding]] = [:]
  /// The findings of this run that a safe repair treats unlike others of their kind.
  private(set) var exceptions: [FindingKind: Int] = [:]
  private(set) var progress: CheckProgress?
  /// Whether `--resume` will continue this check.
  var canResume = false

  mutating func take(_ watcher: Watcher) {
    tally = report?.findings ?? watcher.tally
    if let earlier { tally.add(earlier.tally) }
    shown = watcher.shown
    exceptions = watcher.exceptions
    progress = watcher.progress
  }

  var isCancelled: Bool { error?.code == .cancelled }

  var status: ExitStatus {
    let found = ExitStatus(tally)
    // A part that could not be compared may have problems.
    guard error != nil else {
      return report?.partialCause == nil ? found : found | .operationalError
    }
    return found | (isCancelled ? .cancelled : .operationalError)
  }

  var word: String {
    if error != nil { return isCancelled ? "cancelled" : "failed" }
    if report?.partialCause != nil { return "partial" }
    return tally.found == 0 ? "clean" : tally.left == 0 ? "repaired" : "left"
  }

  /// The error in one line: path, cause and remedy. For a cancelled check, with its progress.
  var errorText: String? {
    guard let error else { return nil }
    let path = error.path.isEmpty ? argument.description : terminalSafe(error.path)
    guard isCancelled else {
      return "\(path): \(terminalSafe(error.cause)); \(terminalSafe(error.remedy))"
    }
    let place =
      progress.map { "after \($0.shards.count) of 256 shards, \(entries($0))" }
      ?? "before the first entry"
    let remedy = canResume ? "--resume goes on there" : "run it again"
    return "\(path): cancelled \(place); \(remedy)"
  }

  private func entries(_ progress: CheckProgress) -> String {
    "\(progress.entries) of \(progress.totalEntries) entries"
  }
}
