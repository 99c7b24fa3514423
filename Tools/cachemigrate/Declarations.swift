import CommandLineTools
import StoreMigration

enum FormatChoice: String, CaseIterable, Sendable {
  case auto, offlinecache, coredata, cfnetwork, yycache

  var format: SourceFormat? { SourceFormat(rawValue: rawValue) }
}

enum Declarations {
  static let source = Parameter(
    "source", .path, help: "The database of a cache, or the folder with it")
  static let destination = Parameter(
    "destination", .path, help: "The folder of a store; created if it is missing")
  static let from = Option(
    "from", ValueKind<FormatChoice>.choice, default: .auto,
    help: "The format that the source must have")
  static let dryRun = Flag("dry-run", short: "n", help: "Show the plan; write nothing")
  static let json = Flag("json", help: "Print the summary as JSON, and the report as JSON lines")
  static let report = Option(
    "report", ValueKind<Argument>.path.named("FILE"),
    help: "Write a line for each row; JSON lines if the name ends in .json or .jsonl")
  static let resume = Flag("resume", help: "Continue an interrupted migration")
  static let keepExpired = Flag("keep-expired", help: "Move entries that have expired; the default")
  static let dropExpired = Flag("drop-expired", help: "Leave entries behind that have expired")
  static let ignoreAuthorization = Flag(
    "ignore-authorization",
    help: "Store entries as if their requests had no Authorization; for caches of one user")
  static let mapURL = Option(
    "map-url", mapping, repeats: true,
    help: "Put NEW in place of the beginning OLD of URLs; the first that matches is used")

  /// OLD may contain `=`, and NEW is a URL: so the first `=` in front of a scheme separates them.
  private static let mapping = ValueKind<URLMapping>(
    "OLD=NEW", expected: "OLD=NEW, where NEW begins with http:// or https://"
  ) { text in
    let marks = ["=http://", "=https://"].compactMap { text.firstRange(of: $0)?.lowerBound }
    guard let mark = marks.min(), mark > text.startIndex else { return nil }
    return URLMapping(from: String(text[..<mark]), to: String(text[text.index(after: mark)...]))
  }

  static let tool = Command(
    "cachemigrate",
    summary: "Moves the SQLite-based cache of another library into a store of OfflineCache",
    discussion: [
      "The source is only read: OfflineCache's cache.db, Core Data stores with CachedURLResponse, "
        + "Apple's Cache.db with fsCachedData, YYCache's manifest.sqlite. The format is found by "
        + "the contents, not by the name. A private copy of the database is made in $TMPDIR, else "
        + "in /var/tmp.",
      "Responses arrive as if the store had cached them itself: a look-up for the URL finds them, and "
        + "the order of eviction is that of the source. An entry that is already in the destination, "
        + "or a newer one, stays. Running it again changes nothing.",
      "Results go to standard output, messages and progress to standard error. Docs/Migrate.md has "
        + "the names in the JSON.",
    ],
    parameters: [source, destination],
    options: [
      from, dryRun, json, report, resume, keepExpired, dropExpired, ignoreAuthorization, mapURL,
    ],
    examples: [
      .init("cachemigrate --dry-run Cache.db store", "Shows what would be moved, and the space"),
      .init("cachemigrate --report moved.jsonl Cache.db store", "Moves, and reports each row"),
      .init(
        "cachemigrate --map-url http://old.example/=https://new.example/ cache.db store",
        "Moves to another server's URLs"),
      .init("cachemigrate --resume Cache.db store", "Continues after an interruption"),
    ],
    exitStatuses: [
      (.success, "All rows were moved, or skipped for a reason that is no fault"),
      (.faults, "Some rows could not be converted, or there is no room for what is planned"),
      (.operationalError, "The source could not be read, or the destination not be written"),
      (.wrongUsage, "The command line is wrong"),
      (.cancelled, "Interrupted (Ctrl-C, SIGTERM, SIGHUP, SIGQUIT); --resume continues"),
    ],
    version: "0.1.0")
}

extension ExitStatus {
  static let faults = ExitStatus(rawValue: 1)
}
