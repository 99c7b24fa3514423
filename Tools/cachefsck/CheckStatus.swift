import CommandLineTools
import StoreChecking

/// The exit statuses of a check, as those of fsck(8).
extension ExitStatus {
  static let repaired = ExitStatus(rawValue: 1)
  static let left = ExitStatus(rawValue: 4)

  init(_ tally: Tally) {
    self = tally.found == 0 ? .success : tally.left == 0 ? .repaired : .left
  }

  static func | (a: ExitStatus, b: ExitStatus) -> ExitStatus {
    ExitStatus(rawValue: a.rawValue | b.rawValue)
  }
}

typealias Tally = [FindingKind: CheckReport.Count]

extension Tally {
  /// The notes that do not count as problems.
  var notes: Int { reduce(0) { $0 + ($1.key.facts.isWrong ? 0 : $1.value.found) } }

  mutating func add(_ kind: FindingKind, _ more: CheckReport.Count) {
    self[kind, default: .init()].found += more.found
    self[kind, default: .init()].repaired += more.repaired
    self[kind, default: .init()].lostEntries += more.lostEntries
  }

  mutating func add(_ other: Tally) {
    for (kind, count) in other { add(kind, count) }
  }
}
