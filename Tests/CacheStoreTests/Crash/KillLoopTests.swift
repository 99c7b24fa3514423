import CacheStore
import SimulatedFiles
import Testing

/// Processes end at every call that changes something; what they had promised is there.
@Suite struct KillLoopTests {
  @Test(arguments: CrashScenario.all, [Durability.process, .full])
  func `a kill at any call loses nothing that was promised`(
    scenario: CrashScenario, durability: Durability
  ) throws {
    var loop = try CrashLoop(scenario, durability)
    // Before a call is after the one before; calls that only read leave nothing.
    loop.strikeEach(.endBefore, atMost: 1, \.isChange) { $0.note($0.complaints(of: $1), $2) }
    loop.strikeEach(.endAfter, \.isChange) { $0.note($0.complaints(of: $1), $2) }
    loop.strikeEach(.endWithin, { $0.kind == .write }) { $0.note($0.complaints(of: $1), $2) }
    loop.report("kill")
  }

  /// What a kill has left is put right by a process that is killed in its turn, fails, or loses power.
  @Test(arguments: CrashScenario.all, [Durability.process, .full])
  func `a second fault while the first is put right loses nothing either`(
    scenario: CrashScenario, durability: Durability
  ) throws {
    let recovery = CrashScenario(
      name: "recovery of \(scenario)", settling: scenario.settling, journal: scenario.journal
    ) {
      try $0.settle()
      try $0.put("a", 7)
      $0.close()
    }
    var first = try CrashLoop(scenario, durability)
    var kills = 0
    var points = 0
    // Few first faults get a second one: none of them is left out.
    first.strikeEach(.endAfter, step: 1, \.isChange) { loop, struck, place in
      kills += 1
      // The first calls make the directories.
      guard kills > 6, TestScale.isFull || kills % 16 == 12 else { return }
      var second = CrashLoop(
        recovery, durability, base: struck.volume, struck.run.ledger.withoutComplaints)
      second.strikeEach(.endAfter, \.isChange) { second, struck, place in
        if durability == .full {
          second.checkPowerLoss(struck, seeds: TestScale.isFull ? 2 : 0, place)
        }
        second.note(second.complaints(of: struck), place)
      }
      second.strikeEach(.endWithin, { $0.kind == .write }) { $0.note($0.complaints(of: $1), $2) }
      points += second.points
      loop.note(second.failures, place)
    }
    print("crash points: second faults, \(scenario), \(durability): \(points)")
    first.report("first faults")
  }
}
