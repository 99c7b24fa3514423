/// Names the exit status of a tool.
///
/// Small numbers say what a command found; 64 is `EX_USAGE` of sysexits(3); from 128 on, a signal
/// ended the work, as the shell counts it.
package struct ExitStatus: Sendable, Hashable, RawRepresentable {
  /// The status, 0 to 255.
  package let rawValue: UInt8

  /// Creates a status from its number.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// All that was asked for was done.
  package static let success = ExitStatus(rawValue: 0)
  /// Something that was asked for is not there.
  package static let notFound = ExitStatus(rawValue: 1)
  /// The work failed.
  package static let failure = ExitStatus(rawValue: 2)
  /// The command line is wrong.
  package static let usage = ExitStatus(rawValue: 64)
  /// Whoever read the output went away; 128 + SIGPIPE.
  package static let outputClosed = ExitStatus(rawValue: 141)

  /// The status of a tool that a signal ended.
  package static func signal(_ number: Int32) -> ExitStatus {
    ExitStatus(rawValue: UInt8(clamping: 128 + number))
  }
}

/// Names the statuses a tool ends with when its command throws, for tools that follow another
/// convention than ours.
package struct FailureStatuses: Sendable, Hashable {
  /// The command line is wrong.
  package var usage: ExitStatus
  /// The work failed.
  package var failure: ExitStatus
  /// Whoever read the output went away.
  package var outputClosed: ExitStatus
  /// A signal ended the work; nil is 128 and its number.
  package var interrupted: ExitStatus?

  /// Creates statuses; the defaults are those of ``ExitStatus``.
  package init(
    usage: ExitStatus = .usage, failure: ExitStatus = .failure,
    outputClosed: ExitStatus = .outputClosed, interrupted: ExitStatus? = nil
  ) {
    self.usage = usage
    self.failure = failure
    self.outputClosed = outputClosed
    self.interrupted = interrupted
  }

  /// The status of a tool that a signal ended.
  func signal(_ number: Int32) -> ExitStatus { interrupted ?? .signal(number) }
}
