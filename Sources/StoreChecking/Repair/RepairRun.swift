internal import CacheFormat
internal import Synchronization

/// A repair: it goes through the store until a pass repairs nothing, at most six times.
///
/// A repair may show other damage. For example, a recovered entry has a wrong body, or an entry
/// that was moved to its place meets another one there.
struct RepairRun {
  /// The most passes. The last one repairs nothing.
  private static let maximumPasses = 6

  let checker: StoreChecker
  let observer: any CheckObserver

  /// Repairs the store.
  ///
  /// - Returns: the sizes that the last pass has counted, and the findings of all passes.
  func perform() throws(CheckError) -> CheckReport {
    let told = ToldFindings(observer)
    let hashed = HashedFiles(keepsAll: true)
    var options = checker.options
    options.skippedShards = []
    var pass = CheckPass(.wait)
    var report = try CheckRun(checker, options, pass, told, hashed).perform()
    if report.findings.isEmpty && !pass.hasSpared.isSet { return report }
    for number in 2...Self.maximumPasses {
      if number == Self.maximumPasses { options.repair = nil }
      pass = CheckPass(next(after: pass, told))
      told.beginPass()
      let last = try CheckRun(checker, options, pass, told, hashed).perform()
      told.endPass(isPartial: last.partialCause != nil)
      report.partialCause = last.partialCause
      (report.entries, report.unsettled, report.files) = (last.entries, last.unsettled, last.files)
      (report.bodyBytes, report.journalBytes) = (last.bodyBytes, last.journalBytes)
      report.storeID = report.storeID ?? last.storeID
      if !told.hasRepaired, next(after: pass, told) == pass.missing { break }
    }
    report.findings = told.counts
    return report
  }

  /// Returns what the next pass does with entries that are missing or have no right body.
  private func next(after pass: CheckPass, _ told: ToldFindings) -> CheckPass.Missing {
    if pass.foundAll { return checker.options.repair == .all ? .giveUp : .keep }
    return told.hasRepaired ? .wait : .keep
  }
}

/// An observer that forwards each finding once, however many passes find it.
final class ToldFindings: CheckObserver {
  private struct State {
    var pass = 1
    var counts: [FindingKind: CheckReport.Count] = [:]
    /// The findings that this pass has not repaired, as digests of kind and path, because there may be a
    /// million.
    var left: [Digest: Left] = [:]
    /// Those that earlier passes have not repaired, and this pass has not found again so far.
    var earlier: [Digest: Left] = [:]
    /// The shards in which this pass could not read something, which may be what earlier passes found.
    var unreadableShards: Set<UInt8> = []
    /// The paths outside of shards that this pass could not read.
    var unreadablePaths: [[UInt8]] = []

    func couldRead(_ gone: Left) -> Bool {
      if let shard = gone.shard { return !unreadableShards.contains(shard) }
      return !unreadablePaths.contains { gone.path.isAtOrBelow($0) }
    }
    var hasRepaired = false
  }

  /// The findings of one kind and path: a segment of the journal may have several.
  private struct Left {
    var kind: FindingKind
    var shard: UInt8?
    /// The path; empty for what is in a shard.
    var path: [UInt8]
    var count = 0

    init(_ finding: Finding) {
      kind = finding.kind
      shard = finding.shard
      path = shard == nil ? finding.path : []
    }
  }

  private let observer: any CheckObserver
  private let state = Mutex(State())

  init(_ observer: any CheckObserver) { self.observer = observer }

  /// The numbers of findings, and of those that are repaired.
  var counts: [FindingKind: CheckReport.Count] { state.withLock { $0.counts } }
  var hasRepaired: Bool { state.withLock { $0.hasRepaired } }

  func beginPass() {
    state.withLock { state in
      state.pass += 1
      state.earlier = state.left
      state.left = [:]
      state.unreadableShards = []
      state.unreadablePaths = []
      state.hasRepaired = false
    }
  }

  /// Counts the findings as repaired that a pass over the whole store has not found again, although it
  /// could read their shard or path.
  func endPass(isPartial: Bool) {
    state.withLock { state in
      for (name, gone) in state.earlier {
        if isPartial || !state.couldRead(gone) {
          var left = gone
          left.count += state.left[name]?.count ?? 0
          state.left[name] = left
        } else {
          state.counts[gone.kind]?.repaired += gone.count
        }
      }
      state.earlier = [:]
    }
  }

  func found(_ finding: Finding) {
    if state.withLock({ Self.note(finding, &$0) }) { observer.found(finding) }
  }

  /// Counts a finding.
  ///
  /// - Returns: whether it is new.
  private static func note(_ finding: Finding, _ state: inout State) -> Bool {
    let isRepaired = finding.outcome == .repaired
    if isRepaired { state.hasRepaired = true }
    let name = Digest(hashing: Array(finding.kind.rawValue.utf8) + [0] + finding.path)
    if !isRepaired {
      state.left[name, default: Left(finding)].count += 1
    }
    if finding.kind == .unreadable {
      if let shard = finding.shard {
        state.unreadableShards.insert(shard)
      } else {
        state.unreadablePaths.append(finding.path)
      }
    }
    guard var before = state.earlier[name] else {
      state.counts.add(finding)
      return true
    }
    before.count -= 1
    state.earlier[name] = before.count > 0 ? before : nil
    if isRepaired { state.counts.addRepair(of: finding) }
    return false
  }

  /// Only the progress of the first pass is forwarded. It stays at its end during the others.
  func progressed(_ progress: CheckProgress) {
    if state.withLock({ $0.pass == 1 }) { observer.progressed(progress) }
  }
}
