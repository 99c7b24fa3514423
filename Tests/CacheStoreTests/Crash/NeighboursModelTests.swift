import CacheFormat
import CacheSystem
import Foundation
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

/// Random work of two or three processes with different options on one store. Some are killed, and in the end
/// the power goes. What full durability promised has to be there, whatever the neighbours do, unless one
/// without it has stored or removed the same entry later.
@Suite struct NeighboursModelTests {
  @Test(arguments: 0..<(TestScale.isFull ? 600 : 24) as Range<UInt64>)
  func `random neighbours lose nothing that was promised`(seed: UInt64) throws {
    try check(NeighboursModel(seed: seed))
  }

  @Test(arguments: 0..<(TestScale.isFull ? 600 : 24) as Range<UInt64>)
  func `nor do they with calls that fail`(seed: UInt64) throws {
    try check(NeighboursModel(seed: seed, hasErrors: true))
  }

  private func check(_ model: NeighboursModel) throws {
    try model.work(steps: Int.random(in: 20..<120, using: &model.random))
    model.checkAll()
    try model.workUntilPowerLoss()
    for profile in PowerLossProfile.allCases {
      for choice in 0..<4 as Range<UInt64> {
        try model.check(profile, seed: choice == 0 ? nil : choice)
      }
    }
    #expect(model.complaints.isEmpty, "\(model.complaints.prefix(4)) after \(model.steps)")
  }
}

private final class NeighboursModel {
  /// What may be found under a key: numbers of bodies, 0 for none.
  private typealias Values = Set<Int>

  private struct Neighbour {
    let process: SimulatedProcess
    let store: Store
    var isFull: Bool { store.durability == .full }
  }

  var random: SplitMix64
  private(set) var complaints: [String] = []
  /// What was done.
  private(set) var steps: [String] = []

  private let volume = SimulatedVolume()
  private let sizes: JournalSizes
  private let hasErrors: Bool
  private var neighbours: [Neighbour] = []
  private var boot: UInt8 = 1
  /// The last number of a body.
  private var last = 0
  /// What each key may have now, what it may have after a loss of power, and all that it ever had.
  private var now: [ByteString: Values] = [:]
  private var durable: [ByteString: Values] = [:]
  private var ever: [ByteString: Values] = [:]

  init(seed: UInt64, hasErrors: Bool = false) throws {
    random = SplitMix64(seed: seed)
    self.hasErrors = hasErrors
    sizes = JournalSizes(
      segmentBytes: 9_000, smallBytes: Bool.random(using: &random) ? 4_096 : 1 << 20,
      copyBytes: 4_000, logBytes: Bool.random(using: &random) ? 36_000 : 300_000)
    for number in 0..<6 {
      let key = ByteString("k\(number)")
      (now[key], durable[key], ever[key]) = ([0], [0], [0])
    }
    for _ in 0..<Int.random(in: 2...3, using: &random) {
      neighbours.append(try open(isFull: Bool.random(using: &random)))
    }
  }

  private func open(isFull: Bool, on volume: SimulatedVolume? = nil) throws -> Neighbour {
    let process = SimulatedProcess(on: volume ?? self.volume)
    var options = Options(
      durability: isFull ? .full : .process,
      settling: .random(in: 0..<5, using: &random) == 0 ? .atOnce : .within(seconds: 3_600),
      fileSystem: process)
    options.journal = sizes
    options.bootName = [boot]
    return Neighbour(process: process, store: try Store(at: CrashScenario.path, options: options))
  }

  // MARK: Work

  func work(steps count: Int) throws {
    for _ in 0..<count where complaints.isEmpty {
      try step()
      for (place, old) in neighbours.enumerated() where old.process.hasEnded {
        old.store.close()
        steps.append("\(place) opens again")
        neighbours[place] = try open(isFull: old.isFull)
      }
    }
  }

  func workUntilPowerLoss() throws {
    let victim = Int.random(in: neighbours.indices, using: &random)
    let place = Int.random(in: 1..<60, using: &random)
    steps.append("fault at \(place) of \(victim)")
    neighbours[victim].process
      .setFault(SimulatedFault(.losePower, at: place, matching: \.isChange))
    for _ in 0..<40 where !neighbours.contains(where: \.process.hasEnded) { try? step() }
    for one in neighbours { one.process.end() }
    for one in neighbours { one.store.close() }
    boot = 2
  }

  private func step() throws {
    let place = Int.random(in: neighbours.indices, using: &random)
    let one = neighbours[place]
    // Mostly of their own keys, as the others would take promises back.
    let own = 2 * place..<2 * place + 2
    let keys = Int.random(in: 0..<8, using: &random) > 0 ? own : 0..<6
    let key = ByteString("k\(Int.random(in: keys, using: &random))")
    func tell(_ what: String) { steps.append("\(place) \(what)") }
    if hasErrors, !one.process.hasEnded, Int.random(in: 0..<8, using: &random) == 0 {
      if one.process.struck == nil { fail(one, tell) } else { one.process.setFault(nil) }
    }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50:
      tell("puts \(key) \(last + 1)")
      change(key, newBody(), one) { store, body throws(StoreError) in
        try store.put(body, for: key)
      }
    case 50..<54:
      tell("streams \(key) \(last + 1)")
      change(key, newBody(), one) { store, body throws(StoreError) in
        let writer = try store.makeWriter(for: key, metadata: EntryMetadata())
        try writer.write(Array(body.prefix(3)))
        try writer.write(Array(body.dropFirst(3)))
        try writer.commit()
      }
    case 54..<64:
      tell("removes \(key)")
      change(key, 0, one) { store, _ throws(StoreError) in try store.remove(key) }
    case 64..<68:
      // The body stays, so nothing else is promised.
      tell("updates \(key)")
      _ = try? one.store.update(key) { $0.status = 201 }
    case 68..<72:
      tell("settles")
      _ = try? one.store.settle()
    case 72..<74:
      tell("purges")
      _ = try? one.store.purge()
    case 74..<82:
      tell("looks \(key) up")
      check(key, one.store, now, "now")
      _ = try? one.store.flush()
    case 82..<86:
      tell("closes")
      one.store.close()
      one.process.end()
      neighbours[place] = try open(isFull: Bool.random(using: &random))
    case 86..<89:
      tell("is killed")
      one.process.end()
    case 89..<91:
      tell("is killed in a call")
      let effects: [SimulatedFault.Effect] = [.endWithin, .endAfter, .endBefore]
      one.process.setFault(
        SimulatedFault(
          effects.randomElement(using: &random) ?? .endAfter,
          at: Int.random(in: 1..<12, using: &random), matching: \.isChange))
    case 91..<95:
      tell("rests")
      for _ in 0..<2 { _ = one.store.catalog.writer.rest() }
    case 95..<96:
      tell("removes all")
      removeAll(one)
    default: one.store.waitUntilIdle()
    }
  }

  /// Lets a later call of a process fail, or all from there on. After a failed sync the next ones succeed:
  /// a process can show others only on a disk that syncs (Docs/Durability.md).
  private func fail(_ one: Neighbour, _ tell: (String) -> Void) {
    let faults: [(SimulatedFault.Effect, lasts: Bool, @Sendable (SimulatedOperation) -> Bool)] = [
      // On a full disk, a store evicts.
      (.fail(.inputOutput), false, { _ in true }),
      (.fail(.inputOutput), false, { $0.kind == .synchronize }),
      (.fail(.inputOutput), true, { $0.isChange && $0.kind != .synchronize }),
      (.fail(.inputOutput), true, { $0.kind == .lock }),
      (.fail(SystemError(EMFILE)), true, \.opens),
      (.transferHalf, true, { $0.kind == .read || $0.kind == .write }),
    ]
    let (effect, lasts, matches) = faults[Int.random(in: faults.indices, using: &random)]
    let number = Int.random(in: 1..<12, using: &random)
    tell("\(effect) \(lasts ? "from" : "at") \(number)")
    one.process.setFault(SimulatedFault(effect, at: number, lasts: lasts, matching: matches))
  }

  /// - Parameter change: is called with the store and the body with this number.
  private func change(
    _ key: ByteString, _ number: Int, _ one: Neighbour,
    _ change: (Store, [UInt8]) throws(StoreError) -> Void
  ) {
    now[key]?.insert(number)
    ever[key]?.insert(number)
    // Without full durability, an earlier version may be there again.
    if one.isFull { durable[key]?.insert(number) } else { durable[key] = ever[key] }
    for attempt in 1...3 {
      do throws(StoreError) {
        try change(one.store, body(number))
        // What returned while the process was ending was promised to nobody.
        if one.process.hasEnded { return }
        now[key] = [number]
        if one.isFull { durable[key] = [number] }
        return
      } catch {
        if one.process.hasEnded || one.process.struck != nil { return }
        if !hasErrors || attempt == 3 { complaints.append("\(key) cannot be changed: \(error)") }
        // The system tells a failed sync to each process that has the file open, once.
        one.store.waitUntilIdle()
      }
    }
  }

  private func removeAll(_ one: Neighbour) {
    for key in ever.keys {
      now[key]?.insert(0)
      durable[key]?.insert(0)
    }
    guard (try? one.store.removeAll()) != nil, !one.process.hasEnded else { return }
    for key in ever.keys {
      now[key] = [0]
      durable[key] = one.isFull ? [0] : ever[key]
    }
  }

  // MARK: Bodies

  private func newBody() -> Int {
    last += 1
    return last
  }

  /// Embedded ones, ones for the log, and longer ones.
  private func body(_ number: Int) -> [UInt8] {
    let counts = [8, 700, 2_000, 2_100, 9_000, 20_000]
    return TestBody.make(counts[number % counts.count] + number % 7, seed: UInt64(number))
      + Array("\(number)".utf8)
  }

  // MARK: Checks

  private func check(
    _ key: ByteString, _ store: Store, _ allowed: [ByteString: Values], _ when: String
  ) {
    var found = store.lookUp(key)
    if let one = neighbours.first(where: { $0.store === store }) {
      // A process that was killed meanwhile finds nothing.
      if one.process.hasEnded { return }
      if found.entry == nil, one.process.struck != nil { return }
      // After calls that failed, an entry may be searched for once where it was before.
      if hasErrors, found.entry == nil {
        store.waitUntilIdle()
        found = store.lookUp(key)
      }
    }
    let allowed = allowed[key] ?? []
    let isAllowed =
      found.entry.map { entry in allowed.contains { $0 > 0 && body($0) == entry.body } }
      ?? allowed.contains(0)
    if isAllowed { return }
    let text = found.entry.map { "\($0.body.count) other bytes" } ?? "\(found)"
    complaints.append("\(when), \(key) is \(text), allowed are \(allowed.sorted())")
  }

  /// Holds what all processes find against what was done.
  func checkAll() {
    for one in neighbours {
      one.process.setFault(nil)
      for key in now.keys.sorted() { check(key, one.store, now, "in the end") }
    }
  }

  /// Opens the store after a loss of power.
  func check(_ profile: PowerLossProfile, seed: UInt64?) throws {
    let left = volume.afterPowerLoss(profile, seed: seed)
    let user = try open(isFull: Bool.random(using: &random), on: left)
    func check(_ store: Store, _ moment: String) {
      for key in durable.keys.sorted() {
        self.check(key, store, durable, "\(profile) \(seed ?? 0), \(moment)")
      }
    }
    check(user.store, "at once")
    user.store.waitUntilIdle()
    check(user.store, "compared")
    try user.store.put([1], for: "new")
    try user.store.settle()
    check(user.store, "settled")
    user.store.close()
    let next = try open(isFull: true, on: left)
    check(next.store, "opened again")
    next.store.close()
  }
}
