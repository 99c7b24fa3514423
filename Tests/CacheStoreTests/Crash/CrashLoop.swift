import CacheStore
import CacheSystem
import SimulatedFiles
import Testing

/// Runs a scenario once for each place where a fault can strike.
struct CrashLoop {
  let scenario: CrashScenario
  let durability: Durability
  let base: SimulatedVolume
  let ledger: CrashLedger
  /// The places where a fault has struck.
  private(set) var points = 0
  private(set) var failures: [String] = []

  init(_ scenario: CrashScenario, _ durability: Durability) throws {
    self.scenario = scenario
    self.durability = durability
    (base, ledger) = try scenario.prepared(durability)
    failures = ledger.complaints
  }

  /// Begins with what another run has left.
  init(
    _ scenario: CrashScenario, _ durability: Durability, base: SimulatedVolume,
    _ ledger: CrashLedger
  ) {
    self.scenario = scenario
    self.durability = durability
    self.base = base
    self.ledger = ledger
  }

  /// A run of the steps that a fault has struck.
  struct Struck {
    let volume: SimulatedVolume
    let run: CrashRun
    let operation: SimulatedOperation
  }

  /// Runs the steps with a fault.
  ///
  /// - Returns: nil where it has not struck. The store is still open where its process lives.
  func run(_ fault: SimulatedFault) -> Struck? {
    let volume = base.copy()
    let run = scenario.run(
      SimulatedProcess(on: volume, fault: fault, recordsTrace: true), durability, ledger)
    do {
      try run.open()
      try scenario.steps(run)
    } catch {}
    if run.process.struck == nil { run.close() }
    guard let operation = run.process.struck else { return nil }
    if run.process.hasEnded { run.close() }
    return Struck(volume: volume, run: run, operation: operation)
  }

  /// Strikes at each place after the other until there is none, and tells `body` of each.
  ///
  /// - Parameter step: the distance between the places. With more than 1, a sample is tried: the first
  ///   place, and one of each `step` after it, beginning with a random one.
  mutating func strikeEach(
    _ effect: SimulatedFault.Effect, lasts: Bool = false, atMost: Int = .max,
    step: Int = TestScale.sampleStep,
    _ matches: @escaping @Sendable (SimulatedOperation) -> Bool,
    _ body: (inout CrashLoop, Struck, String) -> Void
  ) {
    var number = 1
    while number <= atMost,
      let struck = run(SimulatedFault(effect, at: number, lasts: lasts, matching: matches))
    {
      let place = "\(effect)\(lasts ? " from" : "") \(number), \(struck.operation)"
      body(&self, struck, place)
      number += number == 1 ? Int.random(in: 1...step) : step
    }
  }

  /// Holds what a run has left against the promises.
  func complaints(of struck: Struck) -> [String] {
    struck.run.ledger.complaints
      + CrashCheck(scenario: scenario, durability: durability)
      .complaints(struck.volume, struck.run.ledger)
  }

  /// Holds what a power cut may have left against the promises.
  ///
  /// - Parameter seeds: how many choices of what is there, beside the one with nothing that was
  ///   not synced.
  mutating func checkPowerLoss(_ struck: Struck, seeds: UInt64, _ place: String) {
    let check = CrashCheck(scenario: scenario, durability: durability, hasLostPower: true)
    for profile in PowerLossProfile.allCases {
      for seed in 0...seeds {
        let volume = struck.volume.afterPowerLoss(profile, seed: seed == 0 ? nil : seed)
        let before = volume.copy()
        let complaints = check.complaints(volume, struck.run.ledger)
        if !complaints.isEmpty { Self.tell(struck, before) }
        note(complaints, "power lost, \(profile), seed \(seed), \(place)")
      }
    }
  }

  /// Prints what the process has done, and what the power cut left.
  private static func tell(_ struck: Struck, _ volume: SimulatedVolume) {
    func tell(_ title: String, _ lines: [String]) {
      print(title, lines.joined(separator: "\n  "), separator: "\n  ")
    }
    tell("calls", struck.run.process.trace.filter(\.isChange).map { "\($0)" })
    tell("left", CrashDump(volume).lines)
  }

  /// Takes down what was wrong at a place.
  mutating func note(_ complaints: [String], _ place: String) {
    points += 1
    if complaints.isEmpty { return }
    failures.append("\(scenario), \(durability), \(place): \(complaints.prefix(3))")
  }

  /// Tells how many places there were, and fails where something was wrong.
  func report(_ what: String) {
    print("crash points: \(what), \(scenario), \(durability): \(points)")
    let failures = failures.prefix(10).joined(separator: "\n")
    #expect(failures.isEmpty, "\(self.failures.count) of \(points): \(failures)")
    #expect(points > 0)
  }
}
