import StoreChecking
import Synchronization

extension Probe {
  /// Reads everything without changing anything. Exit code 0 where nothing is wrong, 1 where
  /// something is, 3 where the store cannot be checked.
  func scrub() -> Never {
    let found = Findings()
    let report = check(repair: nil, found)
    stop(report.found == 0 ? 0 : 1, found.line("FOUND \(report.found)"))
  }

  /// Repairs all that can be. Exit code 0 where nothing is left, 1 where something is, 3 where the
  /// store cannot be checked.
  func repair() -> Never {
    let found = Findings()
    // A repair that says what one would like to hear.
    let report = check(repair: PlantedBug.isOn(.badrepair) ? nil : .all, found)
    let isGood = report.left == 0 || PlantedBug.isOn(.badrepair)
    stop(isGood ? 0 : 1, found.line("REPAIRED \(report.repaired), left \(report.left)"))
  }

  private func check(repair: RepairLevel?, _ observer: Findings) -> CheckReport {
    var options = CheckOptions(depth: .deep, repair: repair, jobs: 1)
    options.fileSystem = PlantedBug.fileSystem
    do {
      return try StoreChecker(at: path, options: options).run(observer)
    } catch {
      stop(3, "ERR check \(error)")
    }
  }
}

private final class Findings: CheckObserver {
  private let texts = Mutex<[String]>([])

  func found(_ finding: Finding) {
    texts.withLock { texts in
      guard texts.count < 6 else { return }
      let path = String(decoding: finding.path, as: UTF8.self)
      texts.append("\(finding.kind) \(path) \(finding.detail) \(finding.outcome)")
    }
  }

  func progressed(_ progress: CheckProgress) {}

  func line(_ start: String) -> String {
    ([start] + texts.withLock { $0 }).joined(separator: "; ")
  }
}
