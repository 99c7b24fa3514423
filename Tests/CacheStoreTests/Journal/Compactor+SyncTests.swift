import CacheSystem
import SimulatedFiles
import TestSupport
import Testing

@testable import CacheStore

@Suite struct CompactorSyncTests {
  private func open(_ process: SimulatedProcess, _ durability: Durability) throws -> Store {
    var options = Options(
      durability: durability, settling: .within(seconds: 3_600), fileSystem: process)
    options.journal = JournalSizes(segmentBytes: 9_000)
    return try Store(at: CrashScenario.path, options: options)
  }

  /// A program that waits for no sync does not call for the next one itself.
  @Test(arguments: [Durability.process, .full])
  func `the journal is written anew after a segment could not be synced`(
    durability: Durability
  ) throws {
    let volume = SimulatedVolume()
    let first = try open(SimulatedProcess(on: volume), .full)
    try first.put([0], for: "first")
    first.close()
    let process = SimulatedProcess(on: volume)
    let store = try open(process, durability)
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1) {
        $0.kind == .synchronize && $0.name.hasSuffix("1.log")
      })
    for number in 0..<8 {
      let body = TestBody.make(2_000, seed: UInt64(number))
      do { try store.put(body, for: ByteString("\(number)")) } catch {
        try store.put(body, for: ByteString("\(number)"))
      }
    }
    #expect(process.struck != nil)
    store.waitUntilIdle()
    #expect(store.catalog.state.withLock { $0.journal.firstNumber } > 1)
    #expect(store.lookUp("first").entry?.body == [0])
    for number in 0..<8 { #expect(store.lookUp(ByteString("\(number)")).entry != nil) }
    store.close()
  }

  /// The system tells a process that opens the segment later nothing of the failure.
  @Test(arguments: [Durability.process, .full])
  func `a neighbour promises nothing on top of a failed sync`(durability: Durability) throws {
    let volume = SimulatedVolume()
    let keeper = try open(SimulatedProcess(on: volume), .full)
    try keeper.put([0], for: "kept")
    let process = SimulatedProcess(on: volume)
    let first = try open(process, durability)
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1) {
        $0.kind == .synchronize && $0.name.hasSuffix("1.log")
      })
    for number in 0..<8 {
      _ = try? first.put(TestBody.make(2_000, seed: 1), for: ByteString("\(number)"))
      if process.struck != nil { break }
    }
    #expect(process.struck != nil)
    let neighbour = try open(SimulatedProcess(on: volume), .full)
    try neighbour.put([1], for: "promised")
    let left = volume.afterPowerLoss(.posix, seed: nil)
    var options = Options(durability: .full, fileSystem: SimulatedProcess(on: left))
    options.bootName = [2]
    let after = try Store(at: CrashScenario.path, options: options)
    #expect(after.lookUp("promised").entry?.body == [1])
    #expect(after.lookUp("kept").entry?.body == [0])
    for store in [after, neighbour, first, keeper] { store.close() }
  }

  /// Writing the journal anew syncs, too: each failure must not begin it again.
  @Test(.timeLimit(.minutes(1)), arguments: [Durability.process, .full])
  func `the upkeep comes to rest though no segment can be synced`(durability: Durability) throws {
    let volume = SimulatedVolume()
    let first = try open(SimulatedProcess(on: volume), .full)
    try first.put([0], for: "first")
    first.close()
    let process = SimulatedProcess(on: volume)
    let store = try open(process, durability)
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1, lasts: true) {
        $0.kind == .synchronize && $0.name.hasSuffix(".log")
      })
    for number in 0..<8 {
      _ = try? store.put(
        TestBody.make(2_000, seed: UInt64(number)), for: ByteString("\(number)"))
    }
    #expect(process.struck != nil)
    store.waitUntilIdle()
    process.setFault(nil)
    try store.put([1], for: "after")
    #expect(store.lookUp("first").entry?.body == [0])
    store.close()
  }
}
