import CommandLineTools
import StoreChecking

/// The exit statuses of fsck(8). They are bits; the statuses of several stores are combined with
/// OR.
extension ExitStatus {
  /// No problem was found.
  static let clean = ExitStatus(rawValue: 0)
  /// Problems were found, and all were repaired.
  static let repaired = ExitStatus(rawValue: 1)
  /// Some problems are left.
  static let left = ExitStatus(rawValue: 4)
  /// The check could not be done, or not completely.
  static let operationalError = ExitStatus(rawValue: 8)
  /// The command line is wrong.
  static let wrongUsage = ExitStatus(rawValue: 16)
  /// A signal ended the check.
  static let cancelled = ExitStatus(rawValue: 32)

  /// The statuses of errors that a command throws.
  static let ofFailures = FailureStatuses(
    usage: .wrongUsage, failure: .operationalError, outputClosed: .operationalError,
    interrupted: .cancelled)

  /// Creates the status for a tally.
  init(_ tally: Tally) {
    self = tally.found == 0 ? .clean : tally.left == 0 ? .repaired : .left
  }

  /// Returns the combination of two statuses.
  static func | (a: ExitStatus, b: ExitStatus) -> ExitStatus {
    ExitStatus(rawValue: a.rawValue | b.rawValue)
  }
}

/// The number of findings of each kind.
typealias Tally = [FindingKind: CheckReport.Count]

extension Tally {
  /// The notes that do not count as problems.
  var notes: Int { reduce(0) { $0 + ($1.key.facts.isWrong ? 0 : $1.value.found) } }

  /// Adds findings of a kind.
  mutating func add(_ kind: FindingKind, _ more: CheckReport.Count) {
    self[kind, default: .init()].found += more.found
    self[kind, default: .init()].repaired += more.repaired
  }

  /// Adds another tally.
  mutating func add(_ other: Tally) {
    for (kind, count) in other { add(kind, count) }
  }
}
