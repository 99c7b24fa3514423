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
        let variants = store.variants(of: ByteString(key))
        if variants.isEmpty {
          Report.notFound(key)
          status = .notFound
        }
        for info in variants {
          if invocation.command == "pin" {
            _ = try store.pin(info.key, variant: info.variant)
          } else {
            _ = try store.unpin(info.key, variant: info.variant)
          }
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
