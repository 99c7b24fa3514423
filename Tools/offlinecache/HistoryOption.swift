import CommandLineTools
import HTTPSemantics

/// The options of the history: what is kept for use without a network only.
enum HistoryOption {
  private static let none = Flag(
    "no-history", group: "History",
    help: "Do not keep responses that only --offline may use, such as temporary redirects, or the "
      + "last good copy of a page that is gone")
  private static let noStore = Flag(
    "keep-no-store", group: "History",
    help: "Also keep responses with no-store, for --offline")

  static let all: [any OptionDeclaration] = [none, noStore]

  static func apply(_ invocation: Invocation, to rules: inout CacheRules) throws {
    try invocation.exclude(none, noStore)
    rules.keepsHistory = !invocation[none]
    rules.keepsNoStore = invocation[noStore]
  }
}
