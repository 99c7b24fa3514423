import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

/// The power goes after every call that changes something, and what was not synced is lost, torn or
/// out of order, as three kinds of file systems allow.
@Suite struct PowerLossLoopTests {
  static let seeds: UInt64 = TestScale.isFull ? 40 : 2

  @Test(arguments: CrashScenario.all, [Durability.process, .full])
  func `loss of power after any call loses nothing that full durability promised`(
    scenario: CrashScenario, durability: Durability
  ) throws {
    var loop = try CrashLoop(scenario, durability)
    // Without full durability less is promised, so there is less to find.
    let seeds = durability == .full ? Self.seeds : (Self.seeds + 1) / 2
    loop.strikeEach(.losePower, \.isChange) { $0.checkPowerLoss($1, seeds: seeds, $2) }
    loop.report("power")
  }

  @Test(arguments: CrashScenario.all)
  func `loss of power after a failed sync loses nothing that was promised`(
    scenario: CrashScenario
  ) throws {
    var loop = try CrashLoop(scenario, .full)
    loop.strikeEach(.fail(.inputOutput), { $0.kind == .synchronize }) { loop, struck, place in
      loop.checkPowerLoss(struck, seeds: Self.seeds, place)
      struck.run.close()
    }
    loop.report("power after a failed sync")
  }
}
