import CacheClient
import CommandLineTools

/// The option for tables of substitutes; for commands that answer requests.
enum SubstituteOption {
  static let option = Option(
    "substitute", .text.named("FILE"), repeats: true,
    help: "Answer URLs with local files, as listed in this table")

  /// Reads the tables, or returns `nil` if none is given.
  static func read(_ invocation: Invocation) throws -> Substitutes? {
    let paths = invocation.all(option)
    guard !paths.isEmpty else { return nil }
    return try Substitutes(contentsOf: paths) { error in
      printMessage("offlinecache: \(error)")
    }
  }
}
