import Testing

@testable import CommandLineTools

struct ExitStatusTests {
  @Test func `the numbers are those that the documents name`() {
    let statuses: [CommandLineTools.ExitStatus] = [
      .success, .notFound, .failure, .usage, .outputClosed, .operationalError, .wrongUsage,
      .cancelled,
    ]
    #expect(statuses.map(\.rawValue) == [0, 1, 2, 64, 141, 8, 16, 32])
  }

  @Test func `a signal is 128 more, unless the tool has a status for it`() {
    #expect(
      CommandLineTools.ExitStatus.signal(2).rawValue == 130
        && CommandLineTools.ExitStatus.signal(15).rawValue == 143)
    #expect(
      CommandLineTools.ExitStatus.signal(1_000).rawValue == 255
        && CommandLineTools.ExitStatus.signal(-1_000).rawValue == 0)
    #expect(FailureStatuses().signal(2).rawValue == 130)
    #expect(FailureStatuses.fsck.signal(2) == .cancelled)
    #expect(FailureStatuses.fsck.usage == .wrongUsage && FailureStatuses().usage == .usage)
  }
}
