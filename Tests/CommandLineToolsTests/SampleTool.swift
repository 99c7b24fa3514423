@testable import CommandLineTools

/// A tool with every kind of option, for the tests to parse against.
enum Sample {
  enum Order: String, CaseIterable, Sendable { case access, size, age }

  static let store = Option("store", short: "s", .path, help: "The store")
  static let quiet = Flag("quiet", short: "q", help: "Say less")

  static let output = Option("output", short: "o", .path, help: "Write to a file")
  static let jobs = Option(
    "jobs", short: "j", .integer(in: 1...64), default: 8, help: "Fetch so many at once")
  static let header = Option("header", .text, repeats: true, help: "Send a field")
  static let offline = Flag("offline", short: "x", help: "Use no network")
  static let wait = Option("wait", .duration, default: .seconds(30), help: "Wait so long")
  static let urls = Parameter("url", .text, .oneOrMore, help: "What to fetch")

  static let sort = Option("sort", ValueKind<Order>.choice, default: .access, help: "Order by")
  static let size = Option("size", .size(), help: "At least so large")
  static let prefix = Parameter("prefix", .bytes, .optional, help: "Keys that begin so")

  static let source = Parameter("source", .pathOrDash, .any, help: "What to copy")
  static let target = Parameter("target", .pathOrDash, help: "Where to")
  static let folder = Option("output-dir", .path, help: "The folder of TARGET")

  static let tool = Command(
    "tool", summary: "Does things", options: [store, quiet],
    subcommands: [
      Command(
        "fetch", summary: "Fetches", parameters: [urls],
        options: [output, jobs, header, offline, wait],
        examples: [.init("tool fetch -j 4 http://a/", "Fetches one page")],
        exitStatuses: [(.notFound, "A page is missing")]),
      Command("list", summary: "Lists", parameters: [prefix], options: [sort, size]),
      Command(
        "copy", summary: "Copies", parameters: [source, target], options: [folder],
        usesGlobalOptions: false),
    ],
    exitStatuses: [(.success, "All went well"), (.notFound, "Not found")], version: "1.2.3")

  /// Parses words as the shell would pass them.
  static func parse(_ words: [Argument]) throws(UsageError) -> Outcome { try tool.parse(words) }

  /// Parses words and returns the invocation, or nil for help and version.
  static func run(_ words: [Argument]) throws(UsageError) -> Invocation? {
    if case .run(let invocation) = try parse(words) { return invocation }
    return nil
  }
}

/// Splits a line at its spaces; good enough for tests without quotes.
func words(_ line: String) -> [Argument] { line.split(separator: " ").map { Argument(String($0)) } }
