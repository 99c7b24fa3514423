import CacheFormat
import CommandLineTools
import StoreChecking

/// Prints the findings and the summary of a check for people: the worst first, with a limit for
/// each kind.
struct TextReport {
  let verdict: Verdict
  let hasTitle: Bool
  private static let keyBytes = 120

  /// Prints the whole report. Prints nothing if the store could not be checked at all.
  func write() throws(OutputError) {
    guard verdict.report != nil || verdict.progress != nil || !verdict.tally.isEmpty else { return }
    try Output.printLines(lines)
  }

  var lines: [String] {
    var sections: [[String]] = kinds.map(group)
    if hasTitle { sections.insert(["== \(verdict.argument)"], at: 0) }
    sections.append(summary)
    if !kinds.isEmpty { sections.append(table.lines) }
    let advice = Advice(verdict).lines
    if !advice.isEmpty { sections.append(advice) }
    return Array(sections.joined(separator: [""]))
  }

  /// The kinds that were found, the worst first.
  private var kinds: [FindingKind] {
    [FindingFacts.Severity.damage, .fault, .note].flatMap { severity in
      FindingKind.allCases.filter {
        $0.facts.severity == severity && (verdict.tally[$0]?.found ?? 0) > 0
      }
    }
  }

  private func group(_ kind: FindingKind) -> [String] {
    let facts = kind.facts
    let shown = verdict.shown[kind] ?? []
    let count = verdict.tally[kind]?.found ?? 0
    var lines = ["\(facts.severity.rawValue) \(kind.rawValue): \(facts.meaning)"]
    let repair = facts.repairedBy.map { "--repair \($0.rawValue)" } ?? "Repair"
    lines.append("  \(repair): \(facts.remedy)")
    lines += shown.map { "  " + line($0) }
    let earlier = verdict.earlier?.tally[kind]?.found ?? 0
    if earlier > 0 { lines.append("  \(earlier) in the part that was checked earlier") }
    let rest = count - shown.count - earlier
    if rest > 0 { lines.append("  and \(rest) more; --json prints all") }
    return lines
  }

  private func line(_ finding: Finding) -> String {
    var line = finding.path.isEmpty ? verdict.argument.description : terminalSafe(finding.path)
    line += ": \(terminalSafe(finding.detail))"
    if let key = finding.key {
      let end = key.count > Self.keyBytes ? "…" : ""
      line += " (key \(terminalSafe(Array(key.prefix(Self.keyBytes))))\(end))"
    }
    switch finding.outcome {
    case .repaired:
      switch finding.lostEntries {
      case 0: line += ": repaired"
      case 1: line += ": the entry is lost"
      default: line += ": \(finding.lostEntries) entries are lost"
      }
    case .left where finding.lostEntries > 0:
      line += finding.lostEntries == 1 ? ": the entry" : ": \(finding.lostEntries) entries"
      line += " would be lost"
    case .failed(let cause): line += ": not repaired: \(terminalSafe(cause))"
    case .left:
      if verdict.request.repair == nil { break }
      if !verdict.request.reaches(finding) {
        line += ": left"
      } else {
        line += verdict.request.isDryRun ? ": would be repaired" : ": not repaired"
      }
    }
    return line
  }

  private var summary: [String] {
    var lines = ["\(verdict.argument): \(outcome) (\(kindOfCheck))"]
    if let earlier = verdict.earlier {
      lines.append("\(earlier.shards.count) of 256 shards were checked earlier")
    }
    if let report = verdict.report {
      var table = TextTable([("", .left), ("", .right), ("", .left)])
      let logged = report.unsettled > 0 ? "\(report.unsettled) only in the journal so far" : ""
      table.add(["entries", "\(report.entries)", logged])
      table.add(["files", "\(report.files)", ""])
      let read = report.readBytes > 0 ? "\(ByteCount(report.readBytes)) read and verified" : ""
      table.add(["bodies", ByteCount(report.bodyBytes).description, read])
      table.add(["journal", ByteCount(report.journalBytes).description, ""])
      lines += table.lines
      if let cause = report.partialCause {
        lines.append("Not everything could be checked: \(terminalSafe(cause)).")
      }
    }
    return lines
  }

  private var outcome: String {
    let (found, left) = (tally.found, tally.left)
    let isWhole = verdict.error == nil && verdict.report?.partialCause == nil
    let end = isWhole ? "" : "\(verdict.word), "
    let notes = verdict.tally.notes
    let also = notes == 0 ? "" : notes == 1 ? ", 1 note" : ", \(notes) notes"
    guard found > 0 else {
      return (isWhole ? "clean" : end + "nothing found in what was looked at") + also
    }
    let findings = found == 1 ? "1 finding" : "\(found) findings"
    let repaired = verdict.request.isDryRun ? "would be repaired" : "repaired"
    return "\(end)\(findings), \(found - left) \(repaired), \(left) left\(also)"
  }

  /// The findings; in a dry run, those that would be repaired count as repaired.
  private var tally: Tally {
    guard verdict.request.isDryRun, let level = verdict.request.repair else { return verdict.tally }
    return verdict.tally.reduce(into: [:]) { tally, item in
      var count = item.value
      let exceptions = verdict.exceptions[item.key] ?? 0
      count.repaired = level.reaches(item.key) ? count.found - exceptions : exceptions
      tally[item.key] = count
    }
  }

  private var kindOfCheck: String {
    var words = ["\(verdict.request.depth.rawValue) check"]
    if let level = verdict.request.repair { words.append("repair \(level.rawValue)") }
    if verdict.request.isDryRun { words.append("dry run") }
    return words.joined(separator: ", ")
  }

  private var table: TextTable {
    var table = TextTable([
      ("FINDING", .left), ("SEVERITY", .left), ("FOUND", .right),
      (verdict.request.isDryRun ? "REPAIRABLE" : "REPAIRED", .right), ("LEFT", .right),
    ])
    let tally = tally
    for kind in kinds {
      let count = tally[kind] ?? .init()
      table.add([
        kind.rawValue, kind.facts.severity.rawValue, "\(count.found)", "\(count.repaired)",
        "\(count.found - count.repaired)",
      ])
    }
    return table
  }
}
