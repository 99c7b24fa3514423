import CLibrary
import CacheSystem
import Dispatch
import Foundation
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// Settling fails, or several stores do it at once.
@Suite(.timeLimit(.minutes(5))) struct SettlerTests {
  private let volume = SimulatedVolume()
  private let bodies: [[UInt8]] = (0..<40).map { TestBody.make(100 + $0, seed: UInt64($0)) }

  private func open(
    _ process: SimulatedProcess, _ settling: Settling = .within(seconds: 3_600)
  ) throws -> Store {
    var options = Options(settling: settling, fileSystem: process)
    options.bootName = [1]
    return try Store(at: CrashScenario.path, options: options)
  }

  private func fill(_ store: Store) throws {
    for (number, body) in bodies.enumerated() { try store.put(body, for: "\(number)") }
  }

  private func expectAll(in store: Store) {
    for (number, body) in bodies.enumerated() {
      #expect(store.lookUp("\(number)").entry?.body == body)
    }
  }

  @Test(
    arguments: [SimulatedOperation.Kind.makeDirectory, .open, .write],
    [SystemError(ENOSPC), SystemError(EACCES), .inputOutput, .readOnlyFileSystem])
  func `what cannot be settled stays in the log`(
    kind: SimulatedOperation.Kind, error: SystemError
  ) throws {
    let process = SimulatedProcess(on: volume)
    let store = try open(process)
    try fill(store)
    process.setFault(
      SimulatedFault(.fail(error), at: 30, lasts: true) {
        $0.kind == kind && !$0.name.hasSuffix(".log")
      })
    let thrown = #expect(throws: StoreError.self) { try store.settle() }
    #expect(thrown?.description.contains(CrashScenario.path) == true)
    #expect((1...40).contains(store.statistics.unsettledEntries))
    expectAll(in: store)
    // Closing does not fail, and loses nothing.
    store.close()
    let again = try open(SimulatedProcess(on: volume))
    expectAll(in: again)
    try again.settle()
    #expect(again.statistics.unsettledEntries == 0)
    expectAll(in: again)
    again.close()
  }

  @Test func `nothing counts as settled while the end of the journal cannot be read`() throws {
    let sandbox = StoreSandbox()
    let files = FaultyFiles()
    let store = try sandbox.open(Options(fileSystem: files), settling: .within(seconds: 3_600))
    try fill(store)
    let other = try sandbox.open(settling: .within(seconds: 3_600))
    let hasFollowed = Atomic<Bool>(false)
    // Another thread looks for what others have stored, and cannot read it.
    files.faults.set { [catalog = store.catalog] call in
      if call.kind == .makeDirectory, !hasFollowed.exchange(true, ordering: .relaxed) {
        _ = try? other.put([1], for: "other")
        catalog.reader.follow()
      }
      return call.kind == .read && hasFollowed.load(ordering: .relaxed) ? .inputOutput : nil
    }
    #expect(throws: StoreError.self) { try store.settle() }
    files.faults.set(nil)
    try store.settle()
    #expect(store.statistics.unsettledEntries == 0)
    expectAll(in: store)
    store.close()
    other.close()
  }

  @Test func `an entry that cannot be settled does not hold up the others`() throws {
    let sandbox = StoreSandbox()
    let store = try sandbox.open(Options(), settling: .within(seconds: 3_600))
    try store.put([1], for: "blocked")
    try store.settle()
    let blocked = sandbox.inside(try #require(sandbox.metadataFiles.first))
    try store.remove("blocked")
    // A folder of somebody else has the name of the metadata file.
    try FileManager.default.createDirectory(
      atPath: blocked + "/foreign", withIntermediateDirectories: true)
    try store.put([2], for: "blocked")
    try fill(store)
    for _ in 0..<2 {
      #expect(throws: StoreError.self) { try store.settle() }
      #expect(store.statistics.unsettledEntries == 1)
    }
    try FileManager.default.removeItem(atPath: blocked)
    try store.settle()
    #expect(store.statistics.unsettledEntries == 0)
    #expect(store.lookUp("blocked").entry?.body == [2])
    expectAll(in: store)
    store.close()
  }

  @Test func `while the volume is full, the pauses between attempts to settle grow`() throws {
    let process = SimulatedProcess(on: volume)
    let clock = SteppingClock()
    var options = Options(
      settling: .within(seconds: 3_600), evictsOnFullDisk: false, clock: clock,
      fileSystem: process)
    options.bootName = [1]
    let store = try Store(at: CrashScenario.path, options: options)
    try fill(store)
    clock.move(seconds: 3_601)
    process.setFault(
      SimulatedFault(.fail(SystemError(ENOSPC)), at: 1, lasts: true) {
        $0.takesRoom && !$0.name.hasSuffix(".log")
      })
    var pauses: [Int64] = []
    for _ in 0..<4 {
      let (after, failure) = store.settler.settleStep()
      #expect(failure?.code == .noSpace)
      pauses.append(after ?? 0)
    }
    #expect(pauses == [1, 2, 4, 8].map { $0 * pauses[0] } && pauses[0] > 0)
    process.setFault(nil)
    // An empty log is no failure.
    try store.removeAll()
    #expect(store.settler.settleStep().failure == nil)
    try fill(store)
    clock.move(seconds: 3_601)
    process.setFault(
      SimulatedFault(.fail(SystemError(ENOSPC)), at: 1, lasts: true) {
        $0.takesRoom && !$0.name.hasSuffix(".log")
      })
    #expect(store.settler.settleStep().after == pauses[0])
    process.setFault(nil)
    #expect(store.settler.settleStep().failure == nil)
    try store.settle()
    expectAll(in: store)
    store.close()
  }

  @Test func `a log that cannot be emptied is not compacted all the time`() throws {
    let process = SimulatedProcess(on: volume)
    var options = Options(settling: .within(seconds: 3_600), fileSystem: process)
    options.bootName = [1]
    options.journal.logBytes = 8_000
    let store = try Store(at: CrashScenario.path, options: options)
    process.setFault(
      SimulatedFault(.fail(SystemError(EACCES)), at: 1, lasts: true) {
        $0.isChange && $0.kind != .write && $0.name.count == 2
      })
    for (number, body) in bodies.enumerated() {
      _ = try? store.put(body + TestBody.make(2_000, seed: UInt64(number)), for: "\(number)")
    }
    #expect(store.statistics.unsettledEntries == 3)
    store.waitUntilIdle()
    store.compactor.compact()
    #expect(!store.catalog.state.withLock { $0.wantsCompaction })
    #expect(store.catalog.state.withLock { $0.journal.failsToCompact.isEmpty } == false)
    process.setFault(nil)
    try store.settle()
    #expect(store.statistics.unsettledEntries == 0)
    store.close()
  }

  @Test func `entries of a killed process are settled while others only read`() throws {
    let process = SimulatedProcess(on: volume)
    let victim = try open(process)
    let survivor = try open(SimulatedProcess(on: volume), .within(seconds: 1))
    try fill(victim)
    process.setFault(SimulatedFault(.endAfter, at: 1) { $0.kind == .write })
    #expect(throws: StoreError.self) { try victim.put([1], for: "last") }
    victim.close()
    expectAll(in: survivor)
    #expect(survivor.statistics.unsettledEntries == bodies.count + 1)
    while survivor.statistics.unsettledEntries > 0 { usleep(10_000) }
    expectAll(in: survivor)
    survivor.close()
  }

  @Test func `stores that settle at once settle each entry once`() throws {
    let sandbox = StoreSandbox()
    let stores = try (0..<4).map { _ in
      try sandbox.open(Options(), settling: .within(seconds: 3_600))
    }
    for round in 0..<5 {
      for number in 0..<100 {
        let body = TestBody.make(50 + round, seed: UInt64(number))
        try stores[number % 4].put(body, for: "\(number)")
      }
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        #expect(throws: Never.self) { try stores[number].settle() }
      }
      for store in stores {
        #expect(store.lookUp("7").entry?.body == TestBody.make(50 + round, seed: 7))
        #expect(store.statistics.unsettledEntries == 0 && store.statistics.entries == 100)
      }
      #expect(sandbox.metadataFiles.count == 100)
    }
    for store in stores { store.close() }
  }
}
