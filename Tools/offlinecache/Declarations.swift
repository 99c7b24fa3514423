import CommandLineTools

/// The declarations that all commands of `offlinecache` share. Each command declares its own
/// options beside its code.
enum Declarations {
  static let store = Option(
    "store", .path,
    defaultText: "$OFFLINECACHE_STORE, or $XDG_CACHE_HOME/offlinecache, "
      + "or ~/.cache/offlinecache",
    help: "The folder of the store")
  static let json = Flag("json", help: "Print JSON, for programs")
  static let key = Parameter("key", .key, help: "The key of the entry")
  static let keys = Parameter("key", .key, .oneOrMore, help: "The keys of the entries")

  static let commands: [any ToolCommand.Type] = [
    FetchCommand.self, CrawlCommand.self, DownloadCommand.self, CheckCommand.self,
    UploadCommand.self, ServeCommand.self, BrowseCommand.self, PutCommand.self, GetCommand.self,
    ShowCommand.self, ListCommand.self, RemoveCommand.self, PinCommand.self, UnpinCommand.self,
    TrimCommand.self, SettleCommand.self, LimitCommand.self, StatsCommand.self,
    ReachabilityCommand.self, RemoteCommand.self, CaCommand.self,
  ]

  static let tool = Command(
    "offlinecache",
    summary: "Keeps HTTP responses, and any other bytes, in a store of plain files",
    discussion: [
      "Results go to standard output, messages and progress to standard error. Keys are bytes; "
        + "on a terminal, control characters are shown escaped. A fetched URL has the key "
        + "'GET URL'. SIZE is a number of bytes such as 4096, 500M or 2GiB (1024) or 1.5GB (1000); "
        + "TIME is 30s, 5m, 12h or 7d."
    ],
    options: [store],
    subcommands: commands.map { $0.declaration },
    examples: [
      .init("offlinecache fetch https://example.org/ -o page.html", "Fetches through the cache"),
      .init(
        "offlinecache fetch --offline https://example.org/ -o -",
        "Prints the page from the store, without a network"),
      .init("offlinecache download https://example.org/big.iso", "Downloads a file, or resumes it"),
      .init("date | offlinecache put now -", "Stores standard input"),
      .init("offlinecache ls --long --sort size", "Lists the entries, the largest first"),
    ],
    exitStatuses: [
      (.success, "Everything was done"),
      (.notFound, "A requested entry or URL does not exist"),
      (.failure, "An error of the store, a file or the network"),
      (.usage, "The command line is wrong"),
      (.signal(2), "Interrupted (Ctrl-C); 128 and the signal's number for other signals"),
      (.outputClosed, "The program that read the output has ended"),
    ],
    version: "0.1.0")
}

extension ValueKind where Value == Argument {
  /// The key of an entry: any bytes, but at least one.
  static var key: ValueKind {
    ValueKind("KEY") { argument throws(InvalidValue) in
      if argument.bytes.isEmpty { throw InvalidValue(expected: "a text that is not empty") }
      return argument
    }
  }
}
