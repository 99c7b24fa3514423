import CommandLineTools
import StoreChecking
import Synchronization

/// The observer of one check: prints and counts the findings, shows the progress, and saves the
/// state.
final class Watcher: CheckObserver {
  /// The findings of each kind that are shown to people.
  static let shownOfKind = 20

  private struct State {
    var tally: Tally = [:]
    /// The same, for each shard with findings.
    var tallies: [UInt8: Tally] = [:]
    var shown: [FindingKind: [Finding]] = [:]
    var exceptions: [FindingKind: Int] = [:]
    var progress: CheckProgress?
    var lastSaved = ContinuousClock.now
    var outputError: OutputError?
    var stateProblem: StateFile.Problem?
  }

  private let checker: StoreChecker
  private let line: ProgressLine
  private let earlier: ResumeState?
  /// The report that prints each finding at once, if the output is JSON.
  private let json: JSONReport?
  private let save: @Sendable (CheckProgress, Tally) throws(StateFile.Problem) -> Void
  private let state = Mutex(State())

  /// Creates an observer of one check.
  ///
  /// - Parameters:
  ///   - earlier: The state of an earlier run; the checker skips its shards.
  ///   - save: The function that saves the state. It is called from time to time with the progress
  ///     and with the findings that a check of the remaining shards does not find again.
  init(
    _ checker: StoreChecker, line: ProgressLine, json: JSONReport?, earlier: ResumeState? = nil,
    save: @escaping @Sendable (CheckProgress, Tally) throws(StateFile.Problem) -> Void
  ) {
    self.earlier = earlier
    self.checker = checker
    self.line = line
    self.json = json
    self.save = save
  }

  func found(_ finding: Finding) {
    state.withLock { state in
      state.tally.add(finding)
      if finding.isException { state.exceptions[finding.kind, default: 0] += 1 }
      if let shard = finding.shard { state.tallies[shard, default: [:]].add(finding) }
      guard let json else {
        if state.shown[finding.kind, default: []].count < Self.shownOfKind {
          state.shown[finding.kind, default: []].append(finding)
        }
        return
      }
      guard state.outputError == nil else { return }
      do throws(OutputError) {
        try line.aside { () throws(OutputError) in try json.write(finding) }
      } catch {
        // The output cannot be written any more, so the check has no use.
        state.outputError = error
        checker.cancel()
      }
    }
  }

  func progressed(_ progress: CheckProgress) {
    // The line shows only this run, so that its rate and the time left are right.
    let before = (entries: earlier?.entries ?? 0, bytes: earlier?.bytes ?? 0)
    let bytes = progress.totalBytes
    line.set(
      done: progress.entries, total: max(0, progress.totalEntries - before.entries),
      bytes: progress.bytes,
      totalBytes: bytes == 0 ? 0 : max(1, bytes - min(bytes, before.bytes)))
    var sum = progress
    sum.entries = min(sum.totalEntries, sum.entries + before.entries)
    sum.bytes += before.bytes
    state.withLock { state in
      state.progress = sum
      guard ContinuousClock.now - state.lastSaved >= .seconds(5) else { return }
      saveNow(&state)
    }
  }

  /// Saves the state. Does nothing if no shard is done.
  func saveState() { state.withLock { saveNow(&$0) } }

  private func saveNow(_ state: inout State) {
    guard let progress = state.progress, !progress.shards.isEmpty, state.stateProblem == nil
    else { return }
    state.lastSaved = .now
    do throws(StateFile.Problem) {
      try save(progress, Self.kept(state, progress.shards))
    } catch {
      state.stateProblem = error
    }
  }

  /// Returns the findings in the shards that are not examined again.
  private static func kept(_ state: State, _ shards: Set<UInt8>) -> Tally {
    var kept: Tally = [:]
    for shard in shards { kept.add(state.tallies[shard] ?? [:]) }
    return kept
  }

  var tally: Tally { state.withLock { $0.tally } }
  /// The first findings of each kind; none with JSON.
  var shown: [FindingKind: [Finding]] { state.withLock { $0.shown } }
  var exceptions: [FindingKind: Int] { state.withLock { $0.exceptions } }
  var progress: CheckProgress? { state.withLock { $0.progress } }
  var stateProblem: StateFile.Problem? { state.withLock { $0.stateProblem } }
  var outputError: OutputError? { state.withLock { $0.outputError } }
}
