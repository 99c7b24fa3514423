import CacheFormat
import CacheStore
import CommandLineTools

enum PinCommand: ToolCommand {
  static let declaration = Command(
    "pin", summary: "Keeps entries from being evicted",
    discussion: ["Pins count against their own quota: see 'offlinecache limit --help'."],
    parameters: [Declarations.keys], unusedStatuses: [.outputClosed])

  static func run(_ invocation: Invocation) throws -> ExitStatus {
    try withStore(invocation, .change) { store in
      var status = ExitStatus.success
      for key in invocation[Declarations.keys] {
        if try store.setPinned(invocation.command == "pin", allOf: ByteString(key)) == 0 {
          Report.notFound(key)
          status = .notFound
        }
      }
      return status
    }
  }
}

enum UnpinCommand: ToolCommand {
  static let declaration = Command(
    "unpin", summary: "Lets entries be evicted again", parameters: [Declarations.keys],
    unusedStatuses: [.outputClosed])

  static func run(_ invocation: Invocation) throws -> ExitStatus { try PinCommand.run(invocation) }
}
