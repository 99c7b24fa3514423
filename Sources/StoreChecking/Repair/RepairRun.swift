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
    defer { told.tellHeld() }
    let (hashed, memory) = (HashedFiles(keepsAll: true), RepairMemory())
    var options = checker.options
    options.skippedShards = []
    var pass = CheckPass(.wait, memory)
    var report = try CheckRun(checker, options, pass, told, hashed).perform()
    if report.findings.isEmpty && !pass.hasSpared.isSet { return report }
    for number in 2...Self.maximumPasses {
      if number == Self.maximumPasses { options.repair = nil }
      pass = CheckPass(next(after: pass, told), memory)
      told.beginPass()
      let last = try CheckRun(checker, options, pass, told, hashed).perform()
      told.endPass(isPartial: last.partialCause != nil || pass.missing == .wait)
      report.partialCause = last.partialCause
      (report.entries, report.unsettled, report.files) = (last.entries, last.unsettled, last.files)
      (report.bodyBytes, report.journalBytes) = (last.bodyBytes, last.journalBytes)
      report.storeID = report.storeID ?? last.storeID
      if !told.hasRepaired, !pass.hasPlacedDetour.isSet, next(after: pass, told) == pass.missing {
        break
      }
    }
    report.findings = told.counts
    return report
  }

  /// Returns what the next pass does with entries that are missing or have no right body.
  private func next(after pass: CheckPass, _ told: ToldFindings) -> CheckPass.Missing {
    if pass.foundAll { return checker.options.repair == .all ? .giveUp : .keep }
    return told.hasRepaired || pass.hasPlacedDetour.isSet ? .wait : .keep
  }
}

/// An observer that forwards each finding once, however many passes find it, with its last outcome. Those
/// that are not repaired are held until the end, as far as there is room.
final class ToldFindings: CheckObserver {
  fileprivate struct State {
    var pass = 1
    var counts: [FindingKind: CheckReport.Count] = [:]
    /// The findings that this pass has not repaired, as digests of kind and path, because there may be a
    /// million.
    var left: [Digest: Left] = [:]
    /// Those that earlier passes have not repaired, and this pass has not found again so far.
    var earlier: [Digest: Left] = [:]
    var heldCount = 0
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
  fileprivate struct Left {
    var kind: FindingKind
    var shard: UInt8?
    /// The path; empty for what is in a shard.
    var path: [UInt8]
    var held: [Finding] = []
    /// The number of those that were forwarded.
    var told = 0
    var count: Int { held.count + told }

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
    let repaired = state.withLock { state in
      var repaired: [Finding] = []
      for (name, gone) in state.earlier {
        if isPartial || !state.couldRead(gone) {
          state.keep(gone, name)
        } else {
          state.counts[gone.kind]?.repaired += gone.count
          state.heldCount -= gone.held.count
          repaired += gone.held
        }
      }
      state.earlier = [:]
      return repaired
    }
    for var finding in repaired {
      finding.outcome = .repaired
      observer.found(finding)
    }
  }

  /// Forwards the findings that are not repaired.
  func tellHeld() {
    let held = state.withLock { state in
      for (name, left) in state.earlier { state.keep(left, name) }
      state.earlier = [:]
      defer { state.left = [:] }
      return state.left.values.flatMap(\.held)
    }
    for finding in held.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
      observer.found(finding)
    }
  }

  func found(_ finding: Finding) {
    if state.withLock({ Self.note(finding, &$0) }) { observer.found(finding) }
  }

  /// Counts a finding.
  ///
  /// - Returns: whether it is to be forwarded now.
  private static func note(_ finding: Finding, _ state: inout State) -> Bool {
    let name = Digest(hashing: Array(finding.kind.rawValue.utf8) + [0] + finding.path)
    if finding.kind == .unreadable {
      if let shard = finding.shard {
        state.unreadableShards.insert(shard)
      } else {
        state.unreadablePaths.append(finding.path)
      }
    }
    var (isNew, wasTold) = (true, false)
    if var before = state.earlier[name] {
      isNew = false
      if before.held.popLast() == nil {
        wasTold = true
        before.told -= 1
      } else {
        state.heldCount -= 1
      }
      state.earlier[name] = before.count > 0 ? before : nil
    }
    if isNew { state.counts.add(finding) }
    if finding.outcome == .repaired {
      state.hasRepaired = true
      if !isNew { state.counts.addRepair(of: finding) }
      return !wasTold
    }
    var left = state.left[name] ?? Left(finding)
    defer { state.left[name] = left }
    if !wasTold, state.heldCount < CheckLimits.heldFindings {
      state.heldCount += 1
      left.held.append(finding)
      return false
    }
    left.told += 1
    return !wasTold
  }

  /// Only the progress of the first pass is forwarded. It stays at its end during the others.
  func progressed(_ progress: CheckProgress) {
    if state.withLock({ $0.pass == 1 }) { observer.progressed(progress) }
  }
}

extension ToldFindings.State {
  /// Keeps findings of earlier passes that this one could not look for.
  fileprivate mutating func keep(_ gone: ToldFindings.Left, _ name: Digest) {
    var left = gone
    left.held += self.left[name]?.held ?? []
    left.told += self.left[name]?.told ?? 0
    self.left[name] = left
  }
}
