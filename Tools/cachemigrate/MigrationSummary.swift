import CacheStore
import CommandLineOptions
import StoreMigration

/// What a migration came to, or would come to.
struct MigrationSummary {
  let request: MigrationRequest
  let source: SourceCache
  let counts: MigrationCounts
  let earlierRows: Int
  let failure: MigrationError?
  /// The bytes that are free for the destination; nil: that cannot be told.
  let freeBytes: UInt64?
  let limits: Limits
  /// What the store holds; nil: there is none.
  let held: Statistics?

  init(
    request: MigrationRequest, migration: Migration, counts: MigrationCounts, earlierRows: Int,
    failure: MigrationError?
  ) {
    self.request = request
    source = migration.source
    self.counts = counts
    self.earlierRows = earlierRows
    self.failure = failure
    freeBytes = Migration.freeBytes(at: request.destination)
    limits = migration.store?.limits ?? .none
    held = migration.store?.statistics
  }

  /// The exit status.
  var status: ExitStatus {
    switch failure {
    case .cancelled: .cancelled
    case .some: .operationalError
    case nil: counts.faults > 0 ? .faults : .moved
    }
  }

  /// One word for the end.
  private var word: String {
    switch failure {
    case .cancelled: "cancelled"
    case .some: "failed"
    case nil: request.isDryRun ? "planned" : "done"
    }
  }

  /// The reasons that were met, the most frequent first.
  private var reasons: [(RowReason, Int)] {
    counts.skipped.sorted { ($1.value, $0.key.name) < ($0.value, $1.key.name) }
      .map { ($0.key, $0.value) }
  }

  /// The lines for people.
  var lines: [String] {
    let would = request.isDryRun ? "would be " : ""
    var lines = ["\(terminalSafe(source.path)): \(source.format.rawValue), \(counts.rows) rows"]
    if earlierRows > 0 { lines.append("\(earlierRows) rows were moved earlier") }
    var table = TextTable([("RESULT", .left), ("ROWS", .right), ("MEANING", .left)])
    table.add(["converted", "\(counts.converted)", "\(ByteCount(counts.bytes)) of bodies"])
    if counts.replaced > 0 {
      table.add(["  replaced", "\(counts.replaced)", "An older entry of the same URL made place."])
    }
    for (reason, count) in reasons {
      table.add([reason.name, "\(count)", reason.meaning])
    }
    lines += table.lines
    let (converted, faults) = (counts.converted, counts.faults)
    let skipped = counts.rows - converted
    lines.append(
      "\(converted) \(would)converted, \(skipped) skipped, \(faults) of them for a fault")
    if request.isDryRun { lines += space }
    return lines
  }

  /// Whether there is room.
  private var space: [String] {
    var lines = ["at most \(ByteCount(counts.neededBytes)) are needed on disk"]
    if let freeBytes {
      let verdict = freeBytes > counts.neededBytes ? "enough" : "NOT ENOUGH"
      lines.append("\(ByteCount(freeBytes)) are free: \(verdict)")
    }
    if let most = limits.bytes {
      let used = (limits.accounting == .logical ? held?.logicalBytes : held?.allocatedBytes) ?? 0
      let added = limits.accounting == .logical ? counts.bytes : counts.neededBytes
      lines.append(
        "the store may hold \(ByteCount(most)) and holds \(ByteCount(used)): "
          + verdict(used + added <= most))
    }
    if let most = limits.entries {
      lines.append(
        "the store may hold \(most) entries and holds \(held?.entries ?? 0): "
          + verdict(UInt64((held?.entries ?? 0) + counts.converted) <= most))
    }
    return lines
  }

  private func verdict(_ fits: Bool) -> String {
    fits ? "enough" : "the least recently used will be evicted or left behind"
  }

  /// The object for machines; the names are a promise: Docs/Migrate.md.
  var json: JSONText {
    let skipped = JSONText.object(reasons.map { ($0.0.name, .count($0.1)) })
    return .object([
      ("type", request.isDryRun ? "plan" : "summary"), ("source", .string(source.path)),
      ("format", .string(source.format.rawValue)), ("destination", .string(request.destination)),
      ("result", .string(word)), ("status", .count(status.rawValue)),
      ("rows", .count(counts.rows)), ("earlier_rows", .count(earlierRows)),
      ("converted", .count(counts.converted)), ("replaced", .count(counts.replaced)),
      ("bytes", .count(counts.bytes)), ("skipped", skipped), ("faults", .count(counts.faults)),
      ("needed_bytes", .count(counts.neededBytes)),
      ("free_bytes", freeBytes.map { .count($0) } ?? .null),
      ("limit_bytes", limits.bytes.map { .count($0) } ?? .null),
      ("limit_entries", limits.entries.map { .count($0) } ?? .null),
      ("error", failure.map { .string("\($0)") } ?? .null),
    ])
  }
}
