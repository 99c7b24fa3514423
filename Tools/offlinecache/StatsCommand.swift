import CacheFormat
import CacheStore
import CommandLineTools

enum StatsCommand: ToolCommand {
  static let declaration = Command(
    "stats", summary: "Prints the number of entries and the space that the store uses",
    discussion: [
      "'shared' is the space saved because equal bodies are stored once for several keys.",
      "'charged' counts against the limit: the size on disk, and room that is kept free for the "
        + "journal, up to a quarter of the limit.",
      "'tier' rows are sums over the commands fetch, serve and remote push that have ended; the "
        + "status page of a proxy has the present numbers.",
      "'only in the journal' counts new small entries, whose files are written within seconds.",
    ],
    options: [Declarations.json], unusedStatuses: [.notFound])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    try withStore(invocation, .read) { store in
      store.waitUntilIdle()
      try Output.printLines(
        invocation[Declarations.json] ? [json(store).pretty] : table(store).lines)
      return .success
    }
  }

  private static func json(_ store: Store) -> JSONText {
    let statistics = store.statistics
    return .object([
      ("entries", .count(statistics.entries)),
      ("logical_bytes", .count(statistics.logicalBytes)),
      ("shared_bytes", .count(statistics.sharedBytes)),
      ("allocated_bytes", .count(statistics.allocatedBytes)),
      ("charged_bytes", .count(store.limits.bytes.map { _ in statistics.chargedBytes })),
      ("journal_bytes", .count(statistics.journalBytes)),
      ("unsettled_entries", .count(statistics.unsettledEntries)),
      ("pinned_entries", .count(statistics.pinnedEntries)),
      ("pinned_bytes", .count(statistics.pinnedBytes)),
      ("limit_bytes", .count(store.limits.bytes)),
      ("limit_entries", .count(store.limits.entries)),
      ("limit_entry_bytes", .count(store.limits.entryBytes)),
      ("limit_free_bytes", .count(store.limits.freeBytes)),
      ("remote", .array(RemoteNumbers.all(in: store).map(\.json))),
    ])
  }

  private static func table(_ store: Store) -> TextTable {
    let statistics = store.statistics
    let limits = store.limits
    var table = TextTable([("", .left), ("", .right), ("", .left)])
    let limit = limits.entries.map { "limit \($0)" } ?? ""
    table.add(["entries", "\(statistics.entries)", limit])
    table.add(["bodies", ByteCount(statistics.logicalBytes).description, ""])
    if let bytes = limits.entryBytes {
      table.add(["largest body", "", "limit \(ByteCount(bytes))"])
    }
    table.add(["shared", ByteCount(statistics.sharedBytes).description, ""])
    table.add(["on disk", ByteCount(statistics.allocatedBytes).description, ""])
    if let bytes = limits.bytes {
      // Includes the room that is reserved for the journal.
      let charged = ByteCount(statistics.chargedBytes).description
      table.add(["charged", charged, "limit \(ByteCount(bytes))"])
    }
    if limits.freeBytes > 0 {
      table.add(["free space", "", "limit \(ByteCount(limits.freeBytes))"])
    }
    table.add(["journal", ByteCount(statistics.journalBytes).description, ""])
    if statistics.unsettledEntries > 0 {
      table.add(["only in the journal", "\(statistics.unsettledEntries)", ""])
    }
    let pinned = statistics.pinnedEntries == 1 ? "1 entry" : "\(statistics.pinnedEntries) entries"
    table.add(["pinned", ByteCount(statistics.pinnedBytes).description, pinned])
    for numbers in RemoteNumbers.all(in: store) {
      for row in numbers.rows { table.add(row) }
    }
    return table
  }
}
