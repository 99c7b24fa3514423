import CacheFormat
import CacheStore
import CommandLineTools

enum RemoveCommand: ToolCommand {
  private static let keys = Parameter("key", .key, .any, help: "The keys of the entries")
  private static let prefixes = Option(
    "prefix", .key, repeats: true, help: "Remove all entries whose keys begin with this")
  private static let tags = Option(
    "tag", .key.named("TAG"), repeats: true, help: "Remove the entries with this tag")
  private static let age = Option(
    "older-than", .duration, help: "Remove entries that were stored longer ago and are not pinned")
  private static let all = Flag("all", help: "Remove every entry")
  private static let purge = Flag(
    "purge",
    help: "Rewrite the journal, so that no file of the store names a removed entry, except damaged "
      + "files in its folder quarantine")

  static let declaration = Command(
    "rm", summary: "Removes entries",
    discussion: [
      "Give keys, or one kind of option. Pinned entries are removed, too, except with "
        + "--older-than. With an option, or if it is interrupted, the number of removed "
        + "entries is printed on standard error. A named key that is not there gives a message and exit "
        + "status 1; a prefix, tag or age that matches nothing gives 0.",
      "Removed entries are never served again, and the files of their bodies are deleted at once. "
        + "Their keys, header fields and small bodies (up to 16 KiB) stay in the journal until a "
        + "command closes the store a day or more after the journal was begun, or in large stores "
        + "until half of it is obsolete. With --purge they are removed at once. Disk blocks are "
        + "not overwritten.",
    ],
    parameters: [keys], options: [prefixes, tags, age, all, purge],
    examples: [
      .init("offlinecache rm --older-than 30d", "Removes entries stored over 30 days ago"),
      .init(
        "offlinecache rm --purge 'GET https://example.org/?token=1'",
        "Leaves no trace of it, except in quarantine"),
    ], unusedStatuses: [.outputClosed])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    let ways = [
      !invocation[keys].isEmpty, !invocation.all(prefixes).isEmpty,
      !invocation.all(tags).isEmpty, invocation[age] != nil, invocation[all],
    ]
    if ways.count(where: { $0 }) != 1 {
      throw invocation.usageError(
        "it is not clear what to remove",
        remedy: "give keys, or one of --prefix, --tag, --older-than and --all")
    }
    return try withStore(invocation, .change) { store in
      var status = ExitStatus.success
      if !invocation[keys].isEmpty {
        status = try remove(invocation[keys], from: store)
      } else {
        Report.done("removed", try removeMany(invocation, from: store))
        if !invocation[all] { try Interruption.check() }
      }
      if invocation[purge] {
        try store.purge()
      } else if Terminal.isTerminal(2) {
        printMessage("the journal still names the removed entries; --purge rewrites it at once")
      }
      // The files of all entries may take long to delete, which the next command goes on with.
      Interruption.finish(status)
      return status
    }
  }

  private static func remove(_ keys: [Argument], from store: Store) throws -> ExitStatus {
    var status = ExitStatus.success
    var removed = 0
    for key in keys {
      if Interruption.requested != nil { Report.done("removed", removed) }
      try Interruption.check()
      let count = try store.remove(ByteString(key))
      removed += count
      if count == 0 {
        Report.notFound(key)
        status = .notFound
      }
    }
    return status
  }

  /// Removes entries by prefix, tag or age, or all; returns how many were removed.
  private static func removeMany(_ invocation: Invocation, from store: Store) throws -> Int {
    var removed = 0
    let goesOn = { Interruption.requested == nil }
    do {
      for prefix in invocation.all(prefixes) {
        let start = ByteString(prefix)
        let count = try store.remove(while: goesOn) { $0.key.hasPrefix(start) }
        if count == 0, goesOn() { Report.notFound(prefix: prefix) }
        removed += count
      }
      for tag in invocation.all(tags) {
        let tag = ByteString(tag)
        removed += try store.remove(while: goesOn) { $0.tags.contains(tag) }
      }
    } catch {
      Report.done("removed", removed)
      throw error
    }
    if !invocation.all(prefixes).isEmpty || !invocation.all(tags).isEmpty { return removed }
    if let age = invocation[age] {
      return try store.remove(createdBefore: secondsFromNow(-age.seconds), while: goesOn)
    }
    try Interruption.check()
    let count = store.statistics.entries
    try store.removeAll()
    return count
  }
}
