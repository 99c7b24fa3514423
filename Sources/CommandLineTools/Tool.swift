import CLibrary
import CacheSystem

/// Runs a tool, from its command line to its exit status.
package enum Tool {
  /// Parses the arguments of this process, runs the command, reports errors, and exits.
  ///
  /// - Parameters:
  ///   - command: The declaration of the tool.
  ///   - statuses: The exit statuses if the body throws.
  ///   - patience: The seconds that work may continue after a signal.
  ///   - body: The work. It returns the exit status or throws. An error is printed as `tool:
  ///     description` and ends the tool with the status `failure`, ``UsageError`` with `usage`,
  ///     ``Interrupted`` with `interrupted`. A closed output ends the tool without a message, with
  ///     `outputClosed`.
  package static func main(
    _ command: Command, statuses: FailureStatuses = .usual, patience: Int = 2,
    _ body: (Invocation) async throws -> ExitStatus
  ) async -> Never {
    fillStandardDescriptors()
    let files = OpenFiles.raiseLimit()
    guard files >= leastFiles else {
      printMessage(
        "\(command.name): this process may have \(files) files open, which is too few; allow "
          + "\(leastFiles) or more (ulimit -n)")
      exit(Int32(statuses.failure.rawValue))
    }
    Interruption.watch(statuses: statuses, patience: patience)
    exit(Int32(await run(command, Argument.ofProcess(), statuses, body).rawValue))
  }

  /// The files that a process must be able to have open. Without descriptors, not even Swift's runtime
  /// works: it would end the process with SIGILL.
  private static let leastFiles: UInt64 = 64

  /// Does the work of ``main(_:_:)`` for the given arguments, and returns the status.
  static func run(
    _ command: Command, _ arguments: [Argument], _ statuses: FailureStatuses,
    _ body: (Invocation) async throws -> ExitStatus
  ) async -> ExitStatus {
    do {
      switch try command.parse(arguments, width: Terminal.width(of: 1)) {
      case .run(let invocation): return try await body(invocation)
      case .help(let text), .version(let text):
        try Output.printLines([text])
        return .success
      }
    } catch {
      return report(error, of: command.name, statuses)
    }
  }

  private static func report(
    _ error: any Error, of tool: String, _ statuses: FailureStatuses
  ) -> ExitStatus {
    switch error {
    // An error after Ctrl-C is a consequence of it.
    case _ where Interruption.requested != nil:
      return statuses.signal(Interruption.requested ?? SIGINT)
    case let error as Interrupted: return statuses.signal(error.signal)
    case let error as OutputError where error.isClosedPipe: return statuses.outputClosed
    case let error as UsageError:
      printMessage(error.description)
      return statuses.usage
    default:
      printMessage("\(tool): \(error)")
      return statuses.failure
    }
  }
}
