import CacheFormat
import CacheStore
import CommandLineTools

enum ListCommand: ToolCommand {
  enum Order: String, CaseIterable, Sendable {
    case access, size, age
  }

  private static let prefix = Parameter(
    "prefix", .bytes, .optional, help: "List only keys that begin with this")
  private static let long = Flag(
    "long", short: "l", help: "Also print length, last access, status and P for pinned")
  private static let sort = Option(
    "sort", ValueKind<Order>.choice,
    help: "Order by last access (latest first), size (largest first) or age (oldest first)")
  private static let null = Flag(
    "null", short: "0", help: "End each key with a zero byte, as for 'xargs -0'")

  static let declaration = Command(
    "ls", summary: "Lists the keys of the entries",
    discussion: [
      "Without --sort the entries come in no particular order, and the list begins at once, even "
        + "if the store is large. With --json each line is one object."
    ],
    parameters: [prefix], options: [long, sort, Declarations.json, null],
    examples: [
      .init("offlinecache ls -l 'GET https://example.org/'", "Lists the entries of a site")
    ], unusedStatuses: [.notFound])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    try invocation.exclude(long, Declarations.json, null)
    let start = ByteString(invocation[prefix].first ?? "")
    return try withStore(invocation, .read) { store in
      let output = Output.standard()
      var isEmpty = true
      var unsorted: [EntryInfo] = []
      for info in store.entries() where info.key.hasPrefix(start) {
        try Interruption.check()
        isEmpty = false
        if invocation[sort] == nil {
          try print(info, invocation, to: output)
        } else {
          unsorted.append(info)
        }
      }
      if let order = invocation[sort] {
        for info in sorted(unsorted, order) { try print(info, invocation, to: output) }
      }
      try store.checkOpen()
      if isEmpty, let prefix = invocation[prefix].first { Report.notFound(prefix: prefix) }
      try output.flush()
      return .success
    }
  }

  private static func sorted(_ infos: [EntryInfo], _ order: Order) -> [EntryInfo] {
    infos.sorted { left, right in
      switch order {
      case .access where left.accessed != right.accessed: left.accessed > right.accessed
      case .size where left.length != right.length: left.length > right.length
      case .age where left.created != right.created: left.created < right.created
      // Equal entries are ordered by key, so that two runs print the same list.
      default: (left.key, left.variant) < (right.key, right.variant)
      }
    }
  }

  private static func print(_ info: EntryInfo, _ invocation: Invocation, to output: Output) throws {
    if invocation[Declarations.json] {
      try output.writeLine(info.json.line)
    } else if invocation[null] {
      try output.write(info.key.bytes + [0])
    } else {
      try output.writeKeyLine(invocation[long] ? details(info) : "", info.key)
    }
  }

  /// Returns the columns before the key. Their widths are fixed, because the entries to come are
  /// not known.
  private static func details(_ info: EntryInfo) -> String {
    let length = pad(ByteCount(info.length).description, to: 11)
    let status = info.status.map { ($0 < 10 ? "  " : $0 < 100 ? " " : "") + "\($0)" } ?? "  -"
    return "\(length)  \(dateText(info.accessed))  \(status)  \(info.isPinned ? "P" : "-")  "
  }
}
