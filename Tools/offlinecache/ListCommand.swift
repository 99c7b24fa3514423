import CacheFormat
import CacheStore
import CommandLineTools

/// `ls`: lists entries.
enum ListCommand {
  /// The orders a list may have.
  enum Order: String, CaseIterable, Sendable {
    case access, size, age
  }

  private static let prefix = Parameter("prefix", .bytes, .optional, help: "Keys that begin so")
  private static let long = Flag(
    "long", short: "l", help: "Print length, last access, status and a P for pinned as well")
  private static let sort = Option(
    "sort", ValueKind<Order>.choice,
    help: "Order by last access (latest first), size (largest first) or age (oldest first)")
  private static let null = Flag(
    "null", short: "0", help: "End each key with a zero byte, as for 'xargs -0'")

  static let declaration = Command(
    "ls", summary: "Lists the keys of the entries",
    discussion: [
      "Without --sort the order is none in particular, and the list begins at once however large "
        + "the store is. With --json each line is one object."
    ],
    parameters: [prefix], options: [long, sort, Declarations.json, null],
    examples: [
      .init("offlinecache ls -l 'GET https://example.org/'", "Lists what is kept of a site")
    ])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let flags = [long, Declarations.json, null].filter { invocation[$0] }
    if flags.count > 1 {
      throw invocation.usageError(
        "--long, --json and --null exclude each other", remedy: "choose one of them")
    }
    let start = ByteString(invocation[prefix].first ?? "")
    return try withStore(invocation, .read) { store in
      let output = Output.standard()
      if let order = invocation[sort] {
        for line in try sorted(store, start, order) { try print(line, invocation, to: output) }
      } else {
        for info in store.entries() where info.key.hasPrefix(start) {
          try Interruption.check()
          try print(info, invocation, to: output)
        }
      }
      try output.flush()
      return .success
    }
  }

  /// Collects the entries to order them: the only list that is held in memory.
  private static func sorted(
    _ store: Store, _ start: ByteString, _ order: Order
  ) throws -> [EntryInfo] {
    var infos: [EntryInfo] = []
    for info in store.entries() where info.key.hasPrefix(start) {
      try Interruption.check()
      infos.append(info)
    }
    return infos.sorted { left, right in
      switch order {
      case .access where left.accessed != right.accessed: left.accessed > right.accessed
      case .size where left.length != right.length: left.length > right.length
      case .age where left.created != right.created: left.created < right.created
      // Equal ones in the order of their keys, so that two runs print the same.
      default: (left.key, left.variant) < (right.key, right.variant)
      }
    }
  }

  private static func print(
    _ info: EntryInfo, _ invocation: Invocation, to output: Output
  ) throws {
    if invocation[Declarations.json] {
      try output.writeLine(info.json.line)
    } else if invocation[null] {
      try output.write(info.key.bytes + [0])
    } else {
      try output.writeKeyLine(invocation[long] ? details(info) : "", info.key)
    }
  }

  /// The columns before the key; of fixed width, since the longest entry is not known beforehand.
  private static func details(_ info: EntryInfo) -> String {
    let length = ByteCount(info.length).description
    let padding = String(repeating: " ", count: max(0, 11 - length.count))
    let status = info.status.map { ($0 < 10 ? "  " : $0 < 100 ? " " : "") + "\($0)" } ?? "  -"
    return "\(padding)\(length)  \(dateText(info.accessed))  \(status)  "
      + "\(info.isPinned ? "P" : "-")  "
  }
}
