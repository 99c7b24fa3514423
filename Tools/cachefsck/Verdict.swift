import CommandLineTools
import StoreChecking

/// What the check of one store came to.
struct Verdict {
  let argument: Argument
  let request: CheckRequest
  /// The state that the check went on from.
  var earlier: ResumeState?
  /// nil where the check has not come to its end.
  var report: CheckReport?
  var error: CheckError?
  /// What was found, in earlier runs of the same check, too.
  private(set) var tally: Tally = [:]
  /// The first findings of each kind.
  private(set) var shown: [FindingKind: [Finding]] = [:]
  /// How far the check has come.
  private(set) var progress: CheckProgress?
  /// Whether `--resume` will go on where the check has ended.
  var canResume = false

  init(
    argument: Argument, request: CheckRequest, earlier: ResumeState? = nil,
    error: CheckError? = nil
  ) {
    self.argument = argument
    self.request = request
    self.earlier = earlier
    self.error = error
  }

  /// Takes what the observer of the check has heard.
  mutating func take(_ watcher: Watcher) {
    tally = report?.findings ?? watcher.tally
    if let earlier { tally.add(earlier.tally) }
    shown = watcher.shown
    progress = watcher.progress
  }

  /// Whether the check was cancelled, and not failed.
  var isCancelled: Bool { error?.code == .cancelled }

  /// The exit status.
  var status: ExitStatus {
    let found = ExitStatus(tally)
    // What could not be compared may be wrong.
    guard error != nil else {
      return report?.partialCause == nil ? found : found | .operationalError
    }
    return found | (isCancelled ? .cancelled : .operationalError)
  }

  /// One word for the end of the check, and whether anything is wrong.
  var word: String {
    if error != nil { return isCancelled ? "cancelled" : "failed" }
    if report?.partialCause != nil { return "partial" }
    return tally.found == 0 ? "clean" : tally.left == 0 ? "repaired" : "left"
  }

  /// The error in one line: path, cause and remedy; how far it was where it was cancelled.
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
