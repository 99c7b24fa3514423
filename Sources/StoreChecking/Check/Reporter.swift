internal import CacheSystem
internal import Synchronization

/// The counts of findings and of the progress. It can be used on any thread, and calls the observer
/// on one thread at a time.
final class Reporter: Sendable {
  private struct State {
    var report = CheckReport()
    var progress = CheckProgress(
      entries: 0, totalEntries: 0, bytes: 0, totalBytes: 0, shards: [])
    var lastTold: Int64 = 0
  }

  /// The shortest time between two reports of the progress, in nanoseconds.
  private static let interval: Int64 = 100_000_000

  private let observer: any CheckObserver
  private let state: Mutex<State>

  init(_ observer: any CheckObserver, skipped: Set<UInt8>) {
    self.observer = observer
    var state = State()
    state.progress.shards = skipped
    self.state = Mutex(state)
  }

  func tell(_ finding: Finding) {
    state.withLock { state in
      state.report.findings.add(finding)
      observer.found(finding)
    }
  }

  func tell(_ findings: [Finding]) {
    for finding in findings { tell(finding) }
  }

  func begin(entries: Int, bytes: UInt64, of report: (inout CheckReport) -> Void) {
    state.withLock { state in
      state.progress.totalEntries = entries
      state.progress.totalBytes = bytes
      report(&state.report)
    }
  }

  /// Whether an entry is missing, or has no right body.
  var hasMissing: Bool {
    state.withLock { $0.report.findings.keys.contains { $0.facts.losesData } }
  }

  func change(_ change: (inout CheckReport) -> Void) {
    state.withLock { change(&$0.report) }
  }

  func add(entries: Int = 0, files: Int = 0, bytes: UInt64 = 0, shard: Int? = nil) {
    state.withLock { state in
      state.report.entries += entries
      state.report.files += files
      state.report.readBytes += bytes
      state.progress.entries += entries
      state.progress.bytes += bytes
      if let shard { state.progress.shards.insert(UInt8(shard)) }
      let now = SystemClock().roughly()
      guard abs(now - state.lastTold) >= Self.interval else { return }
      state.lastTold = now
      observer.progressed(state.progress)
    }
  }

  func tellProgress() { state.withLock { observer.progressed($0.progress) } }

  func end() -> CheckReport {
    state.withLock { state in
      observer.progressed(state.progress)
      return state.report
    }
  }
}
