import CacheFormat
import CacheStore
import CommandLineTools
import StoreMigration

struct MigrationSummary {
  let request: MigrationRequest
  /// The source, or `nil` if the migration did not begin.
  let source: SourceCache?
  let counts: MigrationCounts
  let earlierRows: Int
  let failure: (any Error)?
  /// The bytes that are free for the destination, or `nil` if that cannot be found out.
  let freeBytes: UInt64?
  /// The inodes that are free there, or `nil` if that cannot be found out or there is no limit.
  let freeFiles: UInt64?
  let limits: Limits
  /// The contents of the store, or `nil` if there is no store.
  let held: Statistics?

  /// Creates the summary of a migration; `nil` stands for one that did not begin.
  init(
    request: MigrationRequest, migration: Migration? = nil,
    counts: MigrationCounts = MigrationCounts(), earlierRows: Int = 0, failure: (any Error)?
  ) {
    self.request = request
    source = migration?.source
    self.counts = counts
    self.earlierRows = earlierRows
    self.failure = failure
    freeBytes = Migration.freeBytes(at: request.destination)
    freeFiles = Migration.freeFiles(at: request.destination)
    limits = migration?.store?.limits ?? .none
    held = migration?.store?.statistics
  }

  private var isCancelled: Bool {
    if case .cancelled? = failure as? MigrationError { true } else { false }
  }

  var status: ExitStatus {
    if isCancelled { return .cancelled }
    if failure != nil { return .operationalError }
    return counts.faults > 0 || request.options.isDryRun && !hasRoom ? .faults : .success
  }

  /// Whether the volume has room for all converted entries; true if that cannot be found out.
  private var hasRoom: Bool { hasBytes && hasFiles }
  private var hasBytes: Bool {
    // The store keeps some of the free bytes free.
    freeBytes.map { $0 > limits.freeBytes && $0 - limits.freeBytes > counts.neededBytes } ?? true
  }
  private var hasFiles: Bool { freeFiles.map { $0 >= counts.neededFiles } ?? true }

  private var word: String {
    if isCancelled { return "cancelled" }
    return failure != nil ? "failed" : request.options.isDryRun ? "planned" : "done"
  }

  /// The reasons for skipped rows, the most frequent first.
  private var reasons: [(RowReason, Int)] {
    counts.skipped.sorted { ($1.value, $0.key.name) < ($0.value, $1.key.name) }
      .map { ($0.key, $0.value) }
  }

  private var head: String {
    let format = source.map { ": \($0.format.rawValue), " } ?? ": "
    let all = Int(clamping: source?.rowCount ?? 0)
    let rows = counts.rows < all ? "\(counts.rows) of \(all) rows" : "\(counts.rows) rows"
    return terminalSafe(source?.path ?? request.source) + format + rows
  }

  var lines: [String] {
    let would = request.options.isDryRun ? "would be " : ""
    var lines = [head]
    if earlierRows > 0 { lines.append("\(earlierRows) rows were moved earlier") }
    var table = TextTable([("RESULT", .left), ("ROWS", .right), ("MEANING", .left)])
    table.add(["converted", "\(counts.converted)", "\(ByteCount(counts.bytes)) of bodies"])
    if counts.replaced > 0 {
      table.add(["  replaced", "\(counts.replaced)", "They replaced older entries of the URL."])
    }
    if counts.authorized > 0 {
      table.add(["  authorization", "\(counts.authorized)", meaningOfAuthorization])
    }
    if counts.evicted > 0 {
      table.add([
        "  evicted", "\(counts.evicted)", "Entries, old or moved, that the store's limits evicted.",
      ])
    }
    for (reason, count) in reasons {
      table.add([reason.name, "\(count)", reason.meaning])
    }
    lines += table.lines
    let (converted, faults) = (counts.converted, counts.faults)
    let skipped = counts.rows - converted
    lines.append(
      "\(converted) \(would)converted, \(skipped) skipped, \(faults) of them for a fault")
    if request.options.isDryRun { lines += space }
    return lines
  }

  private var meaningOfAuthorization: String {
    request.options.ignoresAuthorization
      ? "Their requests had an Authorization, which was left out."
      : "Found with the same Authorization alone; see --ignore-authorization."
  }

  private var space: [String] {
    var lines = ["at most \(ByteCount(counts.neededBytes)) are needed on disk"]
    if let freeBytes {
      let verdict = hasBytes ? "enough" : "NOT ENOUGH"
      let kept =
        limits.freeBytes == 0
        ? "" : ", \(ByteCount(limits.freeBytes)) of which the store keeps free"
      lines.append("\(ByteCount(freeBytes)) are free\(kept): \(verdict)")
    }
    if let freeFiles {
      lines.append(
        "at most \(counts.neededFiles) files and folders (inodes) are needed, \(freeFiles) are free: "
          + (hasFiles ? "enough" : "NOT ENOUGH"))
    }
    if let most = limits.bytes {
      let used = (limits.accounting == .logical ? held?.logicalBytes : held?.allocatedBytes) ?? 0
      let left = reasons.first { $0.0.name == "limits_reached" }?.1 ?? 0
      lines.append(
        "the store may hold \(ByteCount(most)) and holds \(ByteCount(used)): "
          + (left == 0 ? "enough" : "no room for \(left) rows, which stay behind"))
    }
    if let most = limits.entries, limits.bytes == nil {
      lines.append(
        "the store may hold \(most) entries and holds \(held?.entries ?? 0): "
          + verdict(UInt64((held?.entries ?? 0) + counts.converted) <= most))
    }
    return lines
  }

  private func verdict(_ fits: Bool) -> String {
    fits ? "enough" : "the least recently used will be evicted or left behind"
  }

  /// The object for machines. The names are stable and documented in Docs/Migrate.md.
  var json: JSONText {
    let skipped = reasons.map { ($0.0.name, JSONText.count($0.1)) }
    let warnings = (source?.warnings ?? []).map { JSONText.string($0) }
    return .object([
      ("type", request.options.isDryRun ? "plan" : "summary"),
      ("source", .string(source?.path ?? request.source)),
      ("format", .text(source?.format.rawValue)),
      ("destination", .string(request.destination)), ("result", .string(word)),
      ("status", .count(status.rawValue)),
      ("source_rows", .count(source?.rowCount)), ("rows", .count(counts.rows)),
      ("earlier_rows", .count(earlierRows)),
      ("converted", .count(counts.converted)), ("replaced", .count(counts.replaced)),
      ("evicted", .count(counts.evicted)), ("bytes", .count(counts.bytes)),
      ("authorization", .count(counts.authorized)),
      ("skipped", .object(skipped)), ("faults", .count(counts.faults)),
      ("needed_bytes", .count(counts.neededBytes)), ("free_bytes", .count(freeBytes)),
      ("needed_files", .count(counts.neededFiles)), ("free_files", .count(freeFiles)),
      ("limit_bytes", .count(limits.bytes)), ("limit_entries", .count(limits.entries)),
      ("limit_free_bytes", .count(limits.freeBytes)),
      ("warnings", .array(warnings)), ("error", .text(failure.map { "\($0)" })),
    ])
  }
}
