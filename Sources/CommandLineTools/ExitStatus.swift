/// The exit status of a tool.
///
/// Small numbers are results of a command. 64 is `EX_USAGE` of sysexits(3). From 128 on, the status
/// is 128 plus the number of the signal that ended the work, as in a shell.
package struct ExitStatus: Sendable, Hashable, RawRepresentable {
  /// The status, 0 to 255.
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Everything was done.
  package static let success = ExitStatus(rawValue: 0)
  /// A requested item does not exist.
  package static let notFound = ExitStatus(rawValue: 1)
  /// The work failed.
  package static let failure = ExitStatus(rawValue: 2)
  /// The command line is wrong.
  package static let usage = ExitStatus(rawValue: 64)
  /// The reader of the output has ended; 128 + SIGPIPE.
  package static let outputClosed = ExitStatus(rawValue: 141)

  // Those of fsck(8), which are bits: the statuses of several stores are combined with OR.

  /// The work could not be done, or not completely.
  package static let operationalError = ExitStatus(rawValue: 8)
  /// The command line is wrong.
  package static let wrongUsage = ExitStatus(rawValue: 16)
  /// A signal ended the work.
  package static let cancelled = ExitStatus(rawValue: 32)

  /// Returns the status of a tool that a signal ended.
  package static func signal(_ number: Int32) -> ExitStatus {
    ExitStatus(rawValue: UInt8(clamping: 128 + number))
  }
}

/// The statuses of a tool whose command throws, for tools with other conventions than
/// ``ExitStatus``.
package struct FailureStatuses: Sendable, Hashable {
  package var usage = ExitStatus.usage
  package var failure = ExitStatus.failure
  package var outputClosed = ExitStatus.outputClosed
  /// A signal ended the work; `nil` stands for 128 plus the number of the signal.
  package var interrupted: ExitStatus?

  package static let usual = FailureStatuses()
  package static let fsck = FailureStatuses(
    usage: .wrongUsage, failure: .operationalError, outputClosed: .operationalError,
    interrupted: .cancelled)

  func signal(_ number: Int32) -> ExitStatus { interrupted ?? .signal(number) }
}
