import CacheClient
import CommandLineTools

/// The tables of substitutes that a command line names; for commands that answer.
enum SubstituteOption {
  static let option = Option(
    "substitute", .text.named("FILE"), repeats: true,
    help: "Answer with files in place of URLs, as a table says")

  /// Reads the tables; nil where none is named.
  ///
  /// - Throws: ``SubstituteError`` with file, line and remedy.
  static func read(_ invocation: Invocation) throws -> Substitutes? {
    let paths = invocation.all(option)
    guard !paths.isEmpty else { return nil }
    return try Substitutes(contentsOf: paths) { error in
      printMessage("offlinecache: \(terminalSafe(error.description))")
    }
  }
}
