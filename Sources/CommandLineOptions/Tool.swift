#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Runs a tool from its command line to its exit status.
public enum Tool {
  /// Parses the arguments of this process, runs the command, reports what goes wrong, and exits.
  ///
  /// - Parameters:
  ///   - command: the declaration of the tool.
  ///   - body: the work. It returns the exit status or throws: an error is printed as
  ///     `tool: description` and ends with status 2, ``UsageError`` with 64, ``Interrupted`` with 128
  ///     and the signal's number; a closed output ends quietly with 141.
  public static func main(
    _ command: Command, _ body: (Invocation) async throws -> ExitStatus
  ) async -> Never {
    fillStandardDescriptors()
    Interruption.watch()
    exit(Int32(await run(command, Argument.ofProcess(), body).rawValue))
  }

  /// Does the work of ``main(_:_:)`` for given arguments, and returns the status.
  static func run(
    _ command: Command, _ arguments: [Argument], _ body: (Invocation) async throws -> ExitStatus
  ) async -> ExitStatus {
    do {
      switch try command.parse(arguments, width: Terminal.width(of: 1)) {
      case .run(let invocation): return try await body(invocation)
      case .help(let text), .version(let text):
        let output = Output.standard()
        try output.writeLine(text)
        try output.flush()
        return .success
      }
    } catch {
      return report(error, of: command.name)
    }
  }

  /// Prints an error and returns the status it ends with.
  private static func report(_ error: any Error, of tool: String) -> ExitStatus {
    switch error {
    // What fails after Ctrl-C fails because of it, whatever the error says.
    case _ where Interruption.requested != nil:
      return .signal(Interruption.requested ?? SIGINT)
    case let error as Interrupted: return .signal(error.signal)
    case let error as OutputError where error.isClosedPipe: return .outputClosed
    case let error as UsageError:
      printMessage(error.description)
      return .usage
    default:
      printMessage("\(tool): \(error)")
      return .failure
    }
  }
}
