import CacheSystem
import Foundation
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

/// A process is killed beside another one that opened the store before, and compares tree and journal
/// afterwards. What the killed one has left is no damage of the journal, which would cost entries in
/// the log.
@Suite struct NeighbourKillTests {
  private static let path = "/store"

  private static func open(_ process: SimulatedProcess) throws -> Store {
    var options = Options(settling: .within(seconds: 3_600))
    options.fileSystem = process
    return try Store(at: path, options: options)
  }

  /// Changes of all kinds; `promised` has the bodies that must be there now, by key, and nil for an
  /// entry that must be gone.
  private static func work(in store: Store, _ promised: inout [ByteString: [UInt8]?]) throws {
    func put(_ key: ByteString, _ count: Int, _ seed: UInt64) throws {
      let body = TestBody.make(count, seed: seed)
      promised[key] = nil
      try store.put(body, for: key)
      promised[key] = body
    }
    try put("embedded", 10, 1)
    try put("logged", 2_000, 2)
    try put("long", 30_000, 3)
    try put("long", 30_001, 4)
    try store.settle()
    try put("logged", 2_001, 5)
    try put("long", 20, 6)
    try store.settle()
    promised["long"] = nil
    try store.remove("long")
    promised["long"] = .some(nil)
    try put("again", 40_000, 7)
    try store.settle()
  }

  @Test(arguments: [SimulatedFault.Effect.endAfter, .endWithin])
  func `a neighbour that is killed at any call costs no entry`(
    effect: SimulatedFault.Effect
  ) throws {
    var number = 0
    var wasStruck = true
    while wasStruck {
      number += 1
      let volume = SimulatedVolume()
      let first = try Self.open(SimulatedProcess(on: volume))
      try first.put([0], for: "old")
      first.close()
      let survivor = try Self.open(SimulatedProcess(on: volume))
      try survivor.put([1], for: "log")
      let process = SimulatedProcess(on: volume)
      let victim = try Self.open(process)
      let isWriteOnly = effect == .endWithin
      process.setFault(
        SimulatedFault(effect, at: number) { isWriteOnly ? $0.kind == .write : $0.isChange })
      var promised: [ByteString: [UInt8]?] = ["old": [0], "log": [1]]
      _ = try? Self.work(in: victim, &promised)
      wasStruck = process.struck != nil
      victim.close()
      survivor.recovery.reconcile()
      #expect(survivor.statistics.journalDamages == 0, "call \(number)")
      survivor.close()
      let last = try Self.open(SimulatedProcess(on: volume))
      last.waitUntilIdle()
      #expect(last.statistics.journalDamages == 0, "call \(number)")
      for (key, body) in promised {
        #expect(last.lookUp(key).entry?.body == body, "call \(number), \(key)")
      }
      last.close()
    }
    #expect(number > 10)
  }

  /// The second process removes the session of the first when it has compared everything. The third
  /// must not take the half record that the first has left for damage.
  @Test func `a second kill does not turn the half record of the first into damage`() throws {
    let volume = SimulatedVolume()
    let neighbour = try Self.open(SimulatedProcess(on: volume))
    try neighbour.put([1], for: "a")
    let writer = SimulatedProcess(on: volume)
    let first = try Self.open(writer)
    writer.setFault(SimulatedFault(.endWithin, at: 1) { $0.kind == .write })
    _ = try? first.put([2], for: "b")
    #expect(writer.hasEnded)
    let process = SimulatedProcess(on: volume)
    let second = try Self.open(process)
    second.waitUntilIdle()
    process.end()
    let third = try Self.open(SimulatedProcess(on: volume))
    third.waitUntilIdle()
    #expect(third.statistics.journalDamages == 0)
    #expect(third.lookUp("a").entry?.body == [1])
    for store in [first, second, third, neighbour] { store.close() }
  }

  /// The system ends the locks of a killed process one after the other.
  @Test func `a session that ends a moment after the lock of the journal explains half a record`()
    throws
  {
    let sandbox = StoreSandbox()
    let later = Settling.within(seconds: 3_600)
    let neighbour = try sandbox.open(settling: later)
    try neighbour.put([1], for: "a")
    // A session that is locked, as the one of a process that is just ending.
    let session = sandbox.inside("staging/00000000000000aa")
    try FileManager.default.createDirectory(
      atPath: session, withIntermediateDirectories: false)
    let handle = try #require(FileHandle(forReadingAtPath: session))
    #expect(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
    let segment = try #require(FileHandle(forWritingAtPath: sandbox.inside(sandbox.segments[0])))
    try segment.seekToEnd()
    try segment.write(contentsOf: Data(repeating: 7, count: 40))
    try startThread {
      pause(nanoseconds: 20_000_000)
      try? handle.close()
    }
    let store = try sandbox.open(settling: later)
    store.waitUntilIdle()
    #expect(store.statistics.journalDamages == 0)
    // Before the look-up, whose access is written a second later, in a session of this store.
    #expect(sandbox.sessions.count == 1)
    #expect(store.lookUp("a").entry?.body == [1])
    store.close()
    neighbour.close()
  }
}
