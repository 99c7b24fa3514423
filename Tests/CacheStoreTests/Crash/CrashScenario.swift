import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles

@testable import CacheStore

/// Steps that are run again and again, each time with a fault at another call.
struct CrashScenario: Sendable, CustomStringConvertible {
  static let path = "/store"

  var name: String
  var settling = Settling.atOnce
  var journal = JournalSizes()
  /// What the store has before.
  var prepare: @Sendable (CrashRun) throws -> Void = { _ in }
  /// What the fault strikes.
  let steps: @Sendable (CrashRun) throws -> Void

  var description: String { name }

  /// A run of the store in a process.
  ///
  /// - Parameter after: counts the processes before, so that the clock goes on.
  func run(
    _ process: SimulatedProcess, _ durability: Durability, _ ledger: CrashLedger, after: Int64 = 0,
    afterPowerLoss: Bool = false
  ) -> CrashRun {
    var options = Options(
      durability: durability, evictsOnFullDisk: false,
      clock: SteppingClock(1_700_000_000_000_000_000 + after * 1_000_000_000_000, step: 1_000_000),
      fileSystem: process)
    options.journal = journal
    options.settling = settling
    options.bootName = afterPowerLoss ? [2] : [1]
    return CrashRun(process, options, ledger)
  }

  /// A volume with the store as it is before the steps, closed and durable, and what is promised.
  func prepared(_ durability: Durability) throws -> (SimulatedVolume, CrashLedger) {
    let volume = SimulatedVolume()
    let process = SimulatedProcess(on: volume)
    // A store of which all is decided: its seed says which keys share a shard.
    try process.makeDirectory(userPath: Self.path, mode: 0o700)
    let root = try process.open(userPath: Self.path, [.read, .directory])
    let file = try process.open(PathName("store.json"), in: root, [.write, .create])
    let description = StoreDescription(
      id: .init(high: 1, low: 2), hashSeed: 3, created: Timestamp(nanoseconds: 0))
    try process.write(file, description.encoded())
    let run = run(process, durability, CrashLedger(), after: -1)
    try run.open()
    try prepare(run)
    run.close()
    return (volume.copy(), run.ledger)
  }

  /// The scenarios that are run: all, or the one that an environment variable names.
  static let all: [CrashScenario] = {
    let chosen = ProcessInfo.processInfo.environment["OFFLINECACHE_CRASH_SCENARIO"]
    let all = known + known.map { $0.logged } + logged
    return all.filter { chosen == nil || $0.name == chosen }
  }()

  /// The same steps with entries that are first stored in the log.
  private var logged: CrashScenario {
    var scenario = self
    scenario.name += ", logged"
    scenario.settling = .within(seconds: 3_600)
    return scenario
  }

  /// Scenarios of the log.
  private static let logged: [CrashScenario] = [
    // With a limit of bytes, an equal body goes to the tree, where it is already.
    CrashScenario(
      name: "equal bodies", settling: .within(seconds: 3_600),
      prepare: { try $0.setLimits(Limits(bytes: 64 << 20)) },
      steps: { run in
        for version in 5...6 {
          try run.put("a", version, content: "a 5")
          try run.settleLog()
        }
        try run.put("b", 5, content: "a 5")
      }),
    CrashScenario(
      name: "settle", settling: .within(seconds: 3_600),
      prepare: { run in
        try run.put("a", 1)
        try run.put("b", 5)
      },
      steps: { run in
        try run.put("a", 2)
        try run.put("c", 3, content: "b 5")
        try run.settleLog()
        try run.put("a", 3)
        try run.pin("c", true)
        try run.remove("b")
        try run.settleLog()
      }),
    CrashScenario(
      name: "settle and drop", settling: .within(seconds: 3_600),
      journal: JournalSizes(
        segmentBytes: 9_000, smallBytes: 1 << 20, copyBytes: 4_000, logBytes: 36_000),
      prepare: { run in
        for key in ["a", "b", "c"] { try run.put(key, 3) }
      },
      steps: { run in
        for version in 2...4 {
          for key in ["a", "d"] { try run.put(key, version) }
        }
        try run.remove("b")
        try run.settleLog()
        try run.purge()
        try run.put("a", 5)
      }),
  ]

  private static let known: [CrashScenario] = [
    CrashScenario(name: "store") { run in
      try run.put("a", 1)
      // The same bytes again, and an empty body.
      try run.put("b", 2, content: "a 1")
      try run.put("c", 4)
    },
    CrashScenario(
      name: "replace",
      prepare: { run in
        try run.put("a", 1)
        try run.put("b", 5)
      },
      steps: { run in
        try run.put("a", 2)
        try run.put("a", 3, content: "b 5")
        try run.put("b", 5)
      }),
    CrashScenario(
      name: "remove",
      prepare: { run in
        for key in ["a", "b", "c"] { try run.put(key, 1) }
        try run.put("d", 1, content: "a 1")
      },
      steps: { run in
        try run.remove("a")
        try run.remove("d")
        try run.put("a", 2)
        try run.remove("a")
      }),
    CrashScenario(
      name: "removeAll",
      prepare: { run in
        for key in ["a", "b", "c"] { try run.put(key, 1) }
        try run.pin("a", true)
      },
      steps: { run in
        try run.removeAll()
        try run.put("b", 2)
      }),
    CrashScenario(
      name: "evict by count",
      prepare: { run in
        for key in ["a", "b", "c"] { try run.put(key, 1) }
        try run.pin("a", true)
        try run.setLimits(Limits(entries: 3))
      },
      steps: { run in
        try run.put("d", 1)
        try run.put("e", 1)
      }),
    CrashScenario(
      name: "evict by bytes",
      prepare: { run in
        for key in ["a", "b", "c"] { try run.put(key, 5) }
        try run.pin("a", true)
        try run.setLimits(Limits(bytes: 80_000))
      },
      steps: { run in
        try run.put("d", 3)
        try run.put("e", 3)
      }),
    CrashScenario(
      name: "amend and pin",
      prepare: { run in
        for key in ["a", "b"] { try run.put(key, 1) }
      },
      steps: { run in
        try run.setStatus("a", 404)
        try run.pin("a", true)
        try run.put("a", 2)
        try run.pin("a", false)
        try run.touch("b")
      }),
    CrashScenario(name: "stream") { run in
      try run.stream("a", 3, pieceBytes: 9_000)
      try run.stream("a", 10, pieceBytes: 3_000)
    },
    // What the threads do between their calls is not decided: the places are those of one run each.
    CrashScenario(name: "three threads") { try $0.putTogether(["a", "b", "c"], 1) },
    CrashScenario(name: "three threads and rest") { run in
      for version in 1...2 {
        try run.putTogether(["a", "b", "c"], version) { _ = $0.catalog.writer.rest() }
      }
    },
    CrashScenario(
      name: "rest",
      prepare: { run in
        for key in ["a", "b"] { try run.put(key, 1) }
      },
      steps: { run in
        try run.put("a", 2)
        try run.rest()
        try run.remove("b")
        try run.rest()
        try run.touch("a")
        try run.rest()
        try run.put("c", 3)
      }),
    CrashScenario(
      name: "roll",
      journal: JournalSizes(segmentBytes: 400, smallBytes: 1 << 20, copyBytes: 1 << 20),
      prepare: { run in
        try run.put("a", 1)
        try run.put("b", 7)
      },
      steps: { run in
        for version in 2...4 { try run.put("a", version * 7) }
        try run.remove("b")
        try run.put("a", 35)
      }),
    CrashScenario(
      name: "compact",
      journal: JournalSizes(segmentBytes: 700, smallBytes: 1_200, copyBytes: 400),
      prepare: { run in
        for key in ["a", "b", "c", "d"] { try run.put(key, 7) }
        try run.setLimits(Limits(entryBytes: 1 << 20))
        for status in 1...4 { try run.setStatus("d", status) }
      },
      steps: { run in
        try run.put("d", 14)
        try run.remove("a")
        for version in 3...5 { try run.put("d", version * 7) }
      }),
  ]
}
