import CommandLineTools
import StoreChecking

/// The exit statuses of fsck(8). They are bits: those of several stores are or-ed.
extension ExitStatus {
  /// Nothing was wrong.
  static let clean = ExitStatus(rawValue: 0)
  /// All that was wrong was repaired.
  static let repaired = ExitStatus(rawValue: 1)
  /// Something is still wrong.
  static let left = ExitStatus(rawValue: 4)
  /// The check could not be done, or not to its end.
  static let operationalError = ExitStatus(rawValue: 8)
  /// The command line is wrong.
  static let wrongUsage = ExitStatus(rawValue: 16)
  /// A signal ended the check.
  static let cancelled = ExitStatus(rawValue: 32)

  /// The statuses, where a command throws.
  static let ofFailures = FailureStatuses(
    usage: .wrongUsage, failure: .operationalError, outputClosed: .operationalError,
    interrupted: .cancelled)

  /// The status of what was found.
  init(_ tally: Tally) {
    self = tally.found == 0 ? .clean : tally.left == 0 ? .repaired : .left
  }

  /// Both at once.
  static func | (a: ExitStatus, b: ExitStatus) -> ExitStatus {
    ExitStatus(rawValue: a.rawValue | b.rawValue)
  }
}

/// What was found, by kind.
typealias Tally = [FindingKind: CheckReport.Count]

extension Tally {
  /// All that was wrong; notes that no repair clears do not count.
  var found: Int { sum(\.found) }
  /// What was repaired of it.
  var repaired: Int { sum(\.repaired) }
  /// What is still wrong.
  var left: Int { found - repaired }
  /// The notes that do not count.
  var notes: Int { reduce(0) { $0 + ($1.key.facts.isWrong ? 0 : $1.value.found) } }

  private func sum(_ count: (CheckReport.Count) -> Int) -> Int {
    reduce(0) { $0 + ($1.key.facts.isWrong ? count($1.value) : 0) }
  }

  /// Counts more findings of a kind.
  mutating func add(_ kind: FindingKind, _ more: CheckReport.Count) {
    self[kind, default: .init()].found += more.found
    self[kind, default: .init()].repaired += more.repaired
  }

  /// Counts all of another tally.
  mutating func add(_ other: Tally) {
    for (kind, count) in other { add(kind, count) }
  }
}
