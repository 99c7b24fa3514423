import CacheFormat
import CacheStore
import CommandLineTools

enum ShowCommand: ToolCommand {
  static let declaration = Command(
    "show", summary: "Prints the metadata of an entry, without its body",
    discussion: ["Several responses of one key (variants) are printed one after the other."],
    parameters: [Declarations.key], options: [Declarations.json],
    examples: [.init("offlinecache show logo --json", "Prints a line of JSON for each variant")])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let key = invocation.value(of: Declarations.key)
    return try withStore(invocation, .read) { store in
      let variants = store.variants(of: ByteString(key))
      if variants.isEmpty {
        Report.notFound(key)
        return .notFound
      }
      try Output.printLines(
        invocation[Declarations.json]
          ? variants.map(\.json.line)
          : Array(variants.map { table($0).lines }.joined(separator: [""])))
      return .success
    }
  }

  private static func table(_ info: EntryInfo) -> TextTable {
    var table = TextTable([("", .left), ("", .left)])
    table.add(["key", terminalSafe(info.key.bytes)])
    if info.variant != 0 { table.add(["variant", String(info.variant, radix: 16)]) }
    table.add(["length", "\(info.length) (\(ByteCount(info.length)))"])
    table.add(["digest", info.digest.description])
    table.add(["created", dateText(info.created)])
    table.add(["accessed", dateText(info.accessed)])
    table.add(["expires", info.expires.map(dateText) ?? "never"])
    table.add(["pinned", info.isPinned ? "yes" : "no"])
    for tag in info.tags { table.add(["tag", terminalSafe(tag.bytes)]) }
    for field in info.userInfo { table.add(["info", text(of: field)]) }
    if let status = info.status { table.add(["status", "\(status)"]) }
    for field in info.fields { table.add(["field", text(field)]) }
    return table
  }

  /// Returns a field of the user info; a time that the HTTP client has noted, as a date.
  private static func text(of info: Field) -> String {
    let name = info.name.description
    guard let nanoseconds = unit(of: name), let number = info.value.string.flatMap({ Int64($0) })
    else { return text(info) }
    let (time, isTooLarge) = number.multipliedReportingOverflow(by: nanoseconds)
    return isTooLarge ? text(info) : "\(name): \(dateText(Timestamp(nanoseconds: time)))"
  }

  /// Returns the nanoseconds of the unit in which a time is noted; `nil` for what is no time.
  private static func unit(of name: String) -> Int64? {
    switch name {
    case "http-request-time", "http-response-time": 1
    case "http-body-date": 1_000_000_000
    default: nil
    }
  }

  private static func text(_ field: Field) -> String {
    "\(terminalSafe(field.name.bytes)): \(terminalSafe(field.value.bytes))"
  }
}
