import CacheStore
import CommandLineTools

enum TrimCommand: ToolCommand {
  private static let bytes = Option(
    "bytes", .size(), help: "Evict until the store has at most this size")

  static let declaration = Command(
    "trim", summary: "Evicts entries, the least recently used first, down to a size",
    discussion: [
      "Pinned entries stay. The size is not kept as a limit; 'offlinecache limit' sets one."
    ],
    options: [bytes],
    examples: [.init("offlinecache trim --bytes 500M", "Leaves at most 500 MiB")],
    unusedStatuses: [.notFound, .outputClosed])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    guard let bytes = invocation[bytes] else {
      throw invocation.usageError("no size is given", remedy: "write --bytes SIZE")
    }
    return try withStore(invocation, .change) { store in
      Report.done("evicted", try store.trim(toBytes: bytes))
      return .success
    }
  }
}
