import CacheFormat
import CacheStore
import CommandLineTools

enum LimitCommand: ToolCommand {
  private static let bytes = Option("bytes", .limit, help: "The largest size of the store")
  private static let entries = Option("entries", .limit, help: "Entries the store may have")
  private static let entryBytes = Option("entry-bytes", .limit, help: "The largest body")
  private static let pinned = Option(
    "pinned-bytes", .limit, help: "Bytes that may be pinned (none: half of the size)")
  private static let free = Option("free", .size(), help: "Bytes to leave free on the disk")
  private static let accounting = Option(
    "count", .choice(["allocated", "logical"]),
    help: "Count the bytes allocated on disk, or the sum of the body lengths")

  static let declaration = Command(
    "limit", summary: "Prints the limits of the store, or sets some of them",
    discussion: [
      "Limits are kept in the store and hold for every program that uses it. LIMIT is a number "
        + "or size, or 'none'. A new limit evicts at once."
    ],
    options: [bytes, entries, entryBytes, pinned, free, accounting, Declarations.json],
    examples: [.init("offlinecache limit --bytes 2GiB --entries none", "Sets two limits")],
    unusedStatuses: [.notFound])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let isChange =
      [bytes, entries, entryBytes, pinned].contains { invocation[$0] != nil }
      || invocation[free] != nil || invocation[accounting] != nil
    return try withStore(invocation, isChange ? .fill : .read) { store in
      if isChange {
        let before = store.statistics.evictions
        try store.setLimits(changed(store.limits, by: invocation))
        store.waitUntilIdle()
        let evicted = store.statistics.evictions - before
        if evicted > 0 { Report.done("evicted", Int(clamping: evicted)) }
      }
      try print(store.limits, invocation)
      return .success
    }
  }

  private static func changed(_ limits: Limits, by invocation: Invocation) -> Limits {
    var limits = limits
    if let value = invocation[bytes] { limits.bytes = value.number }
    if let value = invocation[entries] { limits.entries = value.number }
    if let value = invocation[entryBytes] { limits.entryBytes = value.number }
    if let value = invocation[pinned] { limits.pinnedBytes = value.number }
    if let value = invocation[free] { limits.freeBytes = value }
    if let value = invocation[accounting] {
      limits.accounting = value == "logical" ? .logical : .allocated
    }
    return limits
  }

  private static func print(_ limits: Limits, _ invocation: Invocation) throws {
    let accounting = limits.accounting == .logical ? "logical" : "allocated"
    if invocation[Declarations.json] {
      let object = JSONText.object([
        ("bytes", .count(limits.bytes)), ("entries", .count(limits.entries)),
        ("entry_bytes", .count(limits.entryBytes)),
        ("pinned_bytes", .count(limits.pinnedBytes)), ("free_bytes", .count(limits.freeBytes)),
        ("count", .string(accounting)),
      ])
      try Output.printLines([object.pretty])
    } else {
      func text(_ value: UInt64?) -> String { value.map { ByteCount($0).exact } ?? "none" }
      var table = TextTable([("", .left), ("", .right)])
      table.add(["bytes", text(limits.bytes)])
      table.add(["entries", limits.entries.map { "\($0)" } ?? "none"])
      table.add(["entry-bytes", text(limits.entryBytes)])
      let half = limits.bytes == nil ? "none" : "\(ByteCount(limits.pinQuota).exact), half of bytes"
      table.add(["pinned-bytes", limits.pinnedBytes == nil ? half : text(limits.pinnedBytes)])
      table.add(["free", text(limits.freeBytes)])
      table.add(["count", accounting])
      try Output.printLines(table.lines)
    }
  }
}

struct LimitValue: Sendable {
  var number: UInt64?
}

extension ValueKind where Value == LimitValue {
  static var limit: ValueKind {
    let size = ValueKind<UInt64>.size()
    return ValueKind("LIMIT", expected: "a number, a size such as 500M, or 'none'") { text in
      if text == "none" { return LimitValue(number: nil) }
      return size.value(of: Argument(text)).map { LimitValue(number: $0) }
    }
  }
}
