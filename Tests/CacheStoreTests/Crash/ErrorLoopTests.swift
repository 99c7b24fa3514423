import CacheStore
import CacheSystem
import Foundation
import SimulatedFiles
import Testing

/// Every call fails, once or from there on: the store says so, keeps what it had, and goes on when
/// the fault is gone.
@Suite struct ErrorLoopTests {
  /// A way to fail.
  struct Failure: Sendable, CustomStringConvertible {
    var description: String
    var effect: SimulatedFault.Effect
    var lasts = false
    var matches: @Sendable (SimulatedOperation) -> Bool
  }

  static let failures: [Failure] = [
    Failure(description: "ENOSPC", effect: .fail(SystemError(ENOSPC)), matches: \.takesRoom),
    Failure(
      description: "ENOSPC from there on", effect: .fail(SystemError(ENOSPC)), lasts: true,
      matches: \.takesRoom),
    Failure(description: "EIO", effect: .fail(.inputOutput)) { _ in true },
    Failure(
      description: "EIO from there on", effect: .fail(.inputOutput), lasts: true,
      matches: \.isChange),
    Failure(description: "EINTR", effect: .fail(.interrupted), matches: \.isInterruptible),
    Failure(description: "EMFILE", effect: .fail(SystemError(EMFILE)), matches: \.opens),
    Failure(
      description: "EMFILE from there on", effect: .fail(SystemError(EMFILE)), lasts: true,
      matches: \.opens),
    Failure(description: "half a transfer", effect: .transferHalf) {
      $0.kind == .read || $0.kind == .write
    },
  ]

  @Test(arguments: CrashScenario.all, [Durability.process, .full])
  func `a call that fails costs nothing that was promised`(
    scenario: CrashScenario, durability: Durability
  ) throws {
    var points = ""
    var loop = try CrashLoop(scenario, durability)
    for failure in Self.failures {
      let before = loop.points
      // These places are cheap, and one of them may show a fault that no other shows.
      loop.strikeEach(
        failure.effect, lasts: failure.lasts, step: max(1, TestScale.sampleStep / 4),
        failure.matches, Self.check)
      points += " \(failure) \(loop.points - before),"
    }
    print("crash points: errors, \(scenario), \(durability):\(points)")
    loop.report("errors")
  }

  @Test(arguments: CrashScenario.all, SimulatedOperation.Kind.allCases)
  func `all calls of a kind may fail`(
    scenario: CrashScenario, kind: SimulatedOperation.Kind
  ) throws {
    var loop = try CrashLoop(scenario, .process)
    loop.strikeEach(.fail(.inputOutput), lasts: true, atMost: 1, { $0.kind == kind }, Self.check)
    if kind == .read || kind == .write {
      loop.strikeEach(.transferHalf, lasts: true, atMost: 1, { $0.kind == kind }, Self.check)
    }
    let failures = loop.failures
    #expect(failures == [])
  }

  /// The fault is over: first the store that has seen it is asked and stores, then another one.
  private static func check(
    _ loop: inout CrashLoop, _ struck: CrashLoop.Struck, _ place: String
  ) {
    struck.run.process.setFault(nil)
    struck.run.check(isPromised: true)
    try? struck.run.settle()
    try? struck.run.putAfterFault()
    struck.run.check(isPromised: true)
    struck.run.close()
    loop.note(loop.complaints(of: struck), place)
  }
}
