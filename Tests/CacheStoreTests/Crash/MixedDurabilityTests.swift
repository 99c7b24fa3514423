import CacheFormat
import CacheSystem
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

/// The power goes while a program with full durability uses a store beside one that syncs nothing, and fills
/// several segments of the journal between two promises of the first.
@Suite struct MixedDurabilityTests {
  /// A careful and a careless process, and what the careful one was promised: bodies by key, nil for an
  /// entry that must be gone.
  private struct Pair {
    let volume = SimulatedVolume()
    let careful: SimulatedProcess
    let careless: SimulatedProcess
    let full: Store
    let other: Store
    private(set) var promised: [ByteString: [UInt8]?] = [:]

    init() throws {
      careful = SimulatedProcess(on: volume)
      careless = SimulatedProcess(on: volume)
      let first = try Self.open(SimulatedProcess(on: volume), .full)
      try first.put([5], for: "first")
      first.close()
      full = try Self.open(careful, .full)
      other = try Self.open(careless, .process)
      promised["first"] = [5]
    }

    static func open(
      _ process: SimulatedProcess, _ durability: Durability, boot: UInt8 = 1
    ) throws -> Store {
      var options = Options(
        durability: durability, settling: .within(seconds: 3_600), fileSystem: process)
      options.journal = JournalSizes(
        segmentBytes: 9_000, smallBytes: 1 << 20, copyBytes: 4_000, logBytes: 36_000)
      options.bootName = [boot]
      return try Store(at: CrashScenario.path, options: options)
    }

    var hasEnded: Bool { careful.hasEnded || careless.hasEnded }

    /// Changes an entry with full durability. Until this returns, the old and the new state are both right,
    /// so nothing is promised.
    private mutating func change(_ key: ByteString, _ body: [UInt8]?) throws {
      promised[key] = nil
      if let body { try full.put(body, for: key) } else { try full.remove(key) }
      // What returned while the power went was promised to nobody.
      if hasEnded { return }
      promised[key] = .some(body)
    }

    /// - Parameter ending: the round in which the careful process is killed.
    mutating func work(endingCareful ending: UInt64?) throws {
      for round in 0..<24 as Range<UInt64> {
        for number in 0..<3 {
          try other.put(
            TestBody.make(2_000, seed: round &* 3 &+ UInt64(number)), for: ByteString("o\(number)"))
        }
        if careless.hasEnded { return }
        if round == ending { careful.end() }
        if careful.hasEnded {
          if ending == nil { return }
          continue
        }
        switch round {
        case 0, 7: try change("kept \(round)", TestBody.make(1_500, seed: round))
        case 2, 9: try change("replaced", TestBody.make(1_000 + Int(round), seed: round))
        case 5: try change("removed", [UInt8](repeating: 1, count: 40))
        case 12: try change("removed", nil)
        case 14: _ = try? other.settle()
        case 20: _ = try? full.settle()
        default: break
        }
      }
    }
  }

  /// Whose call is the last before the power goes.
  private enum Last: CaseIterable {
    case careful, careless
    /// That of the careless one, and the careful one was killed before.
    case survivor
  }

  @Test(arguments: PowerLossProfile.allCases, Last.allCases)
  private func `what full durability promised outlives a neighbour that syncs nothing`(
    profile: PowerLossProfile, last: Last
  ) throws {
    var place = 1
    var wasStruck = true
    var failures: [String] = []
    while wasStruck {
      var pair = try Pair()
      let struck = last == .careful ? pair.careful : pair.careless
      struck.setFault(SimulatedFault(.losePower, at: place, matching: \.isChange))
      try? pair.work(endingCareful: last == .survivor ? 10 : nil)
      wasStruck = struck.hasEnded
      pair.careful.end()
      pair.careless.end()
      for seed in 0..<(TestScale.isFull ? 20 : 4) as Range<UInt64> {
        let left = pair.volume.afterPowerLoss(profile, seed: seed == 0 ? nil : seed)
        let user = try Pair.open(SimulatedProcess(on: left), .full, boot: 2)
        func check(_ moment: String) {
          for (key, body) in pair.promised where user.lookUp(key).entry?.body != body {
            failures.append("place \(place), seed \(seed), \(moment): \(key)")
          }
        }
        check("at once")
        user.waitUntilIdle()
        check("compared")
        user.close()
      }
      pair.full.close()
      pair.other.close()
      place += Int.random(in: 1...TestScale.sampleStep)
    }
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(10))")
    #expect(place > 10)
  }
}
