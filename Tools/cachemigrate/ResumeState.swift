import CommandLineTools
import StoreMigration

/// The progress of an interrupted migration, as lines of text (Docs/Migrate.md, "Running it
/// again").
struct ResumeState: Sendable, Hashable {
  /// A digest of the store, the unchanged source and the options. If it differs, the state belongs
  /// to another migration.
  var subject: String
  var row: Int64
  var counts: MigrationCounts
  /// A digest of the path and format of the report; `-` if there is none.
  var report = "-"
  var reportLength: Int64
  var reportedRows: Int

  static let maximumBytes = 16 << 10
  private static let title = "cachemigrate state 5"

  var encoded: [UInt8] {
    var lines = [
      "subject \(subject)", "row \(row)", "report \(reportLength) \(reportedRows)",
      "file \(report)",
      "counts \(counts.rows) \(counts.converted) \(counts.replaced) \(counts.bytes) "
        + "\(counts.neededBytes) \(counts.evicted) \(counts.authorized)",
    ]
    for (reason, count) in counts.skipped.sorted(by: { $0.key.name < $1.key.name }) {
      lines.append("skipped \(reason.name) \(count)")
    }
    return StateText.encode(Self.title, lines)
  }
}

extension ResumeState {
  /// Decodes a file. Returns `nil` if it is damaged or of another version.
  init?(decoding bytes: [UInt8]) {
    guard let lines = StateText.decode(Self.title, bytes), lines.count >= 5,
      let subject = StateText.value(lines[0], "subject"),
      let row = StateText.value(lines[1], "row").flatMap({ Int64($0) }),
      let report = StateText.value(lines[2], "report").map(Self.numbers), report.count == 2,
      let file = StateText.value(lines[3], "file"), !file.isEmpty,
      let numbers = StateText.value(lines[4], "counts").map(Self.numbers), numbers.count == 7
    else { return nil }
    (self.subject, self.row, self.report) = (subject, row, file)
    (reportLength, reportedRows) = (Int64(report[0]), Int(report[1]))
    counts = MigrationCounts()
    (counts.rows, counts.converted) = (Int(numbers[0]), Int(numbers[1]))
    (counts.replaced, counts.bytes) = (Int(numbers[2]), numbers[3])
    (counts.neededBytes, counts.evicted) = (numbers[4], Int(numbers[5]))
    counts.authorized = Int(numbers[6])
    for line in lines[5...] {
      let words = line.split(separator: " ")
      guard words.count == 3, words[0] == "skipped",
        let reason = RowReason(named: String(words[1])),
        let count = Int(words[2]), count >= 0, count < 1 << 48
      else { return nil }
      counts.skipped[reason] = count
    }
  }

  /// Returns numbers that are small enough for sums not to overflow, or an empty array if one is
  /// not.
  private static func numbers(_ text: String) -> [UInt64] {
    let numbers = text.split(separator: " ").map { UInt64($0) }
    return numbers.allSatisfy { ($0 ?? .max) < 1 << 62 } ? numbers.compactMap { $0 } : []
  }
}
