internal import CacheFormat
internal import Synchronization

/// A repair: goes through the store until one more pass finds nothing that has not been told.
///
/// To repair one thing may bring another to light: an entry that was taken up has a wrong body, or one
/// that was moved to its place meets another there.
struct RepairRun {
  /// The most passes; the last one only looks.
  private static let maximumPasses = 4

  let checker: StoreChecker
  let observer: any CheckObserver

  /// Repairs the store.
  ///
  /// - Returns: what the first pass has looked at, and what all of them have found.
  func perform() throws(CheckError) -> CheckReport {
    let told = ToldFindings(observer)
    let hashed = HashedFiles(keepsAll: true)
    var options = checker.options
    var report = try CheckRun(checker, options, told, hashed).perform()
    if report.findings.isEmpty && options.skippedShards.isEmpty { return report }
    options.skippedShards = []
    for pass in 2...Self.maximumPasses {
      if pass == Self.maximumPasses { options.repair = nil }
      told.beginPass()
      let last = try CheckRun(checker, options, told, hashed).perform()
      told.endPass()
      report.partialCause = last.partialCause
      report.storeID = report.storeID ?? last.storeID
      if !told.hasRepaired { break }
    }
    report.findings = told.counts
    return report
  }
}

/// Passes findings on to an observer, each once, however many passes find it.
private final class ToldFindings: CheckObserver {
  private struct State {
    var pass = 1
    var counts: [FindingKind: CheckReport.Count] = [:]
    /// What is still wrong, by digest: there may be a million.
    var left: [Digest: FindingKind] = [:]
    /// What this pass has found of it.
    var seen: Set<Digest> = []
    var hasRepaired = false
  }

  private let observer: any CheckObserver
  private let state = Mutex(State())

  init(_ observer: any CheckObserver) { self.observer = observer }

  /// All that was found, and what of it is repaired.
  var counts: [FindingKind: CheckReport.Count] { state.withLock { $0.counts } }
  /// Whether this pass has repaired something.
  var hasRepaired: Bool { state.withLock { $0.hasRepaired } }

  func beginPass() {
    state.withLock { state in
      state.pass += 1
      state.seen = []
      state.hasRepaired = false
    }
  }

  /// Notes that what a pass over the whole store has not found any more is right.
  func endPass() {
    state.withLock { state in
      for (name, kind) in state.left where !state.seen.contains(name) {
        state.left[name] = nil
        state.counts[kind]?.repaired += 1
      }
    }
  }

  func found(_ finding: Finding) {
    if state.withLock({ Self.note(finding, &$0) }) { observer.found(finding) }
  }

  /// - Returns: whether it is new.
  private static func note(_ finding: Finding, _ state: inout State) -> Bool {
    let isRepaired = finding.outcome == .repaired
    if isRepaired { state.hasRepaired = true }
    let name = Digest(hashing: Array(finding.kind.rawValue.utf8) + [0] + finding.path)
    if state.pass > 1 { state.seen.insert(name) }
    if state.pass > 1, state.left[name] != nil {
      if isRepaired {
        state.left[name] = nil
        state.counts[finding.kind]?.repaired += 1
      }
      return false
    }
    if !isRepaired { state.left[name] = finding.kind }
    state.counts[finding.kind, default: .init()].found += 1
    if isRepaired { state.counts[finding.kind]?.repaired += 1 }
    return true
  }

  /// The progress is that of the first pass: the others are done when it is at its end.
  func progressed(_ progress: CheckProgress) {
    if state.withLock({ $0.pass == 1 }) { observer.progressed(progress) }
  }
}
