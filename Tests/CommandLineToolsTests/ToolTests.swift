import Testing

@testable import CommandLineTools

@Suite struct ToolTests {
  /// A failure without more to it.
  private struct Failure: Error {}

  private static let other = FailureStatuses(
    usage: ExitStatus(rawValue: 16), failure: ExitStatus(rawValue: 8),
    outputClosed: ExitStatus(rawValue: 9), interrupted: ExitStatus(rawValue: 32))

  @Test(
    arguments: [(FailureStatuses(), 2, 130, 141), (other, 8, 32, 9)]
      as [(FailureStatuses, UInt8, UInt8, UInt8)])
  func `what a body throws decides the status`(
    statuses: FailureStatuses, failure: UInt8, interrupted: UInt8, outputClosed: UInt8
  ) async {
    func status(throwing error: any Error) async -> UInt8 {
      await Tool.run(Sample.tool, ["list"], statuses) { _ in throw error }.rawValue
    }
    #expect(await status(throwing: Failure()) == failure)
    #expect(await status(throwing: Interrupted(signal: 2)) == interrupted)
    let closed = OutputError(path: "standard output", errno: 32)
    #expect(closed.isClosedPipe)
    #expect(await status(throwing: closed) == outputClosed)
  }

  @Test(arguments: [(FailureStatuses(), 64), (other, 16)] as [(FailureStatuses, UInt8)])
  func `a wrong line has a status of its own`(statuses: FailureStatuses, usage: UInt8) async {
    let status = await Tool.run(Sample.tool, ["lst"], statuses) { _ in .success }
    #expect(status.rawValue == usage)
  }

  @Test func `what a body returns is the status whatever the convention`() async {
    let status = await Tool.run(Sample.tool, ["list"], Self.other) { _ in ExitStatus(rawValue: 5) }
    #expect(status.rawValue == 5)
  }
}
