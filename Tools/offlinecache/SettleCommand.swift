import CacheStore
import CommandLineTools

enum SettleCommand: ToolCommand {
  static let declaration = Command(
    "settle", summary: "Writes the files of entries that only the journal has so far",
    discussion: [
      "A small entry is first stored in the journal, and its files are written within seconds.",
      "This command writes them now, also those of programs that were killed.",
    ], unusedStatuses: [.notFound, .outputClosed])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    try withStore(invocation, .change) { store in
      let before = store.statistics.unsettledEntries
      try store.settle()
      Report.done("settled", before)
      return .success
    }
  }
}
