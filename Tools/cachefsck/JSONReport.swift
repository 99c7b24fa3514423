import CacheFormat
import CommandLineTools
import StoreChecking

/// Prints findings and the summary as JSON, one object a line. The names are stable and documented
/// in Docs/Fsck.md.
struct JSONReport: Sendable {
  let argument: Argument
  let request: CheckRequest

  func write(_ finding: Finding) throws(OutputError) {
    let facts = finding.kind.facts
    var members: [(String, JSONText)] = [("type", "finding")]
    members += Self.text("store", argument.bytes)
    members += [
      ("kind", .string(finding.kind.rawValue)), ("severity", .string(facts.severity.rawValue)),
    ]
    members += Self.text("path", finding.path)
    members += finding.key.map { Self.text("key", $0) } ?? [("key", .null)]
    members.append(("detail", .string(finding.detail)))
    members += outcome(finding)
    members.append(("lost_entries", .count(finding.lostEntries)))
    members.append(("repaired_by", .text(facts.repairedBy?.rawValue)))
    try write(members)
  }

  private func outcome(_ finding: Finding) -> [(String, JSONText)] {
    switch finding.outcome {
    case .repaired: [("outcome", "repaired")]
    case .failed(let cause): [("outcome", "failed"), ("cause", .string(cause))]
    case .left:
      request.isDryRun && request.reaches(finding)
        ? [("outcome", "would-repair")] : [("outcome", "left")]
    }
  }

  func write(_ verdict: Verdict) throws(OutputError) {
    let report = verdict.report
    var members: [(String, JSONText)] = [("type", "summary")]
    members += Self.text("store", argument.bytes)
    members += [
      ("store_id", .text(report?.storeID)), ("depth", .string(request.depth.rawValue)),
      ("repair", .text(request.repair?.rawValue)), ("dry_run", .bool(request.isDryRun)),
      ("result", .string(verdict.word)), ("status", .count(verdict.status.rawValue)),
      ("found", .count(verdict.tally.found)), ("repaired", .count(verdict.tally.repaired)),
      ("left", .count(verdict.tally.left)),
      ("lost_entries", .count(verdict.tally.lostEntries)), ("findings", findings(verdict.tally)),
      ("entries", .count(report?.entries)), ("unsettled", .count(report?.unsettled)),
      ("files", .count(report?.files)),
      ("body_bytes", .count(report?.bodyBytes)), ("read_bytes", .count(report?.readBytes)),
      ("journal_bytes", .count(report?.journalBytes)),
      ("partial_cause", .text(report?.partialCause)),
      ("resumed_shards", .count(verdict.earlier?.shards.count ?? 0)),
      ("progress", verdict.progress.map(progress) ?? .null),
      ("error", verdict.error.map(error) ?? .null),
    ]
    try write(members)
  }

  private func findings(_ tally: Tally) -> JSONText {
    .object(
      FindingKind.allCases.compactMap { kind in
        tally[kind].map { count in
          (
            kind.rawValue,
            .object([("found", .count(count.found)), ("repaired", .count(count.repaired))])
          )
        }
      })
  }

  private func progress(_ progress: CheckProgress) -> JSONText {
    .object([
      ("shards", .count(progress.shards.count)), ("entries", .count(progress.entries)),
      ("total_entries", .count(progress.totalEntries)), ("bytes", .count(progress.bytes)),
      ("total_bytes", .count(progress.totalBytes)),
    ])
  }

  private func error(_ error: CheckError) -> JSONText {
    .object([
      ("code", .string(error.code.rawValue)), ("path", .string(error.path)),
      ("errno", .count(error.errno)), ("cause", .string(error.cause)),
      ("remedy", .string(error.remedy)),
    ])
  }

  /// Returns bytes as members. JSON is Unicode: bytes that are not UTF-8 are replaced in the text,
  /// and a second member, with `_hex` in its name, has them all.
  private static func text(_ name: String, _ bytes: [UInt8]) -> [(String, JSONText)] {
    if let text = String(validating: bytes, as: UTF8.self) { return [(name, .string(text))] }
    return [
      (name, .string(String(decoding: bytes, as: UTF8.self))),
      ("\(name)_hex", .string(bytes.hexadecimal)),
    ]
  }

  private func write(_ members: [(String, JSONText)]) throws(OutputError) {
    try Output.printLines([JSONText.object(members).line])
  }
}
