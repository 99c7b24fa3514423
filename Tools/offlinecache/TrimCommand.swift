import CacheStore
import CommandLineTools

/// `trim`: evicts entries down to a size.
enum TrimCommand {
  private static let bytes = Option("bytes", .size(), help: "Evict until no more is left")

  static let declaration = Command(
    "trim", summary: "Evicts entries, those not accessed for longest first, down to a size",
    discussion: [
      "Pinned entries stay. This is done once; 'offlinecache limit' keeps a store to a size."
    ],
    options: [bytes],
    examples: [.init("offlinecache trim --bytes 500M", "Leaves at most 500 MiB")])

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
