import CacheFormat
import CacheSystem
import SimulatedFiles
import Synchronization
import TestSupport
import Testing

@testable import CacheStore

/// What a process promises on top of a segment that another one could not sync, and then a loss of power.
@Suite struct FailedSyncNeighboursTests {
  private let volume = SimulatedVolume()

  private func open(
    on volume: SimulatedVolume? = nil, boot: UInt8 = 1, settling: Settling = .within(seconds: 3_600)
  ) throws -> (process: SimulatedProcess, store: Store) {
    let process = SimulatedProcess(on: volume ?? self.volume)
    var options = Options(durability: .full, settling: settling, fileSystem: process)
    options.bootName = [boot]
    return (process, try Store(at: CrashScenario.path, options: options))
  }

  private func failNextSync(_ process: SimulatedProcess) {
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1) {
        $0.kind == .synchronize && $0.name.hasSuffix(".log")
      })
  }

  /// The process is new, so the system does not tell it what failed before.
  private func expectPromiseOfNext(settling: Settling = .within(seconds: 3_600)) throws {
    let (process, store) = try open(settling: settling)
    let body = TestBody.make(3_000, seed: 7)
    try store.put(body, for: "promised")
    try store.put([7], for: "embedded")
    process.end()
    store.close()
    for profile in PowerLossProfile.allCases {
      for seed in 0..<8 as Range<UInt64> {
        let left = volume.afterPowerLoss(profile, seed: seed == 0 ? nil : seed)
        let (_, again) = try open(on: left, boot: 2, settling: settling)
        for moment in ["at once", "compared"] {
          #expect(again.lookUp("promised").entry?.body == body, "\(profile) \(seed) \(moment)")
          #expect(again.lookUp("embedded").entry?.body == [7], "\(profile) \(seed) \(moment)")
          again.waitUntilIdle()
        }
        again.close()
      }
    }
  }

  @Test(arguments: [Settling.within(seconds: 3_600), .atOnce])
  func `a sync that failed once`(settling: Settling) throws {
    let (process, store) = try open(settling: settling)
    try store.put([0], for: "first")
    failNextSync(process)
    #expect(throws: StoreError.self) {
      try store.put(TestBody.make(9_000, seed: 1), for: "failed")
    }
    process.end()
    try expectPromiseOfNext(settling: settling)
    store.close()
  }

  @Test func `a second sync fails after a neighbour has written the journal anew`() throws {
    let (process, store) = try open()
    let (neighbour, other) = try open()
    try store.put([0], for: "first")
    try other.put([0], for: "second")
    failNextSync(process)
    #expect(throws: StoreError.self) { try store.put([1], for: "failed") }
    for _ in 0..<3 where (try? other.put([1], for: "second")) == nil {}
    #expect(other.catalog.state.withLock { $0.journal.firstNumber } > 1)
    failNextSync(process)
    #expect(throws: StoreError.self) {
      try store.put(TestBody.make(9_000, seed: 1), for: "failed")
    }
    #expect(other.catalog.reader.withCurrentState { $0.journal.hasUnsynced })
    process.end()
    neighbour.end()
    try expectPromiseOfNext()
    store.close()
    other.close()
  }

  @Test func `a neighbour heeds the segment that was to show it, although it has no seal`() throws {
    let (process, store) = try open()
    try store.put([0], for: "first")
    let hasFailed = Atomic<Bool>(false)
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1, lasts: true) {
        guard $0.name == "00000001.log" else { return false }
        if $0.kind == .synchronize { hasFailed.store(true, ordering: .relaxed) }
        return $0.kind == .synchronize || $0.kind == .write && hasFailed.load(ordering: .relaxed)
      })
    #expect(throws: StoreError.self) {
      try store.put(TestBody.make(9_000, seed: 1), for: "failed")
    }
    let (_, other) = try open()
    try other.put([1], for: "other")
    // The journal was written anew before that was promised.
    #expect(other.catalog.state.withLock { $0.journal.firstNumber } > 1)
    process.setFault(nil)
    for store in [store, other] { store.close() }
  }

  @Test func `the sync at the end of a segment fails`() throws {
    let (process, store) = try open()
    try store.put([0], for: "first")
    for number in 0..<200 { try store.put([0], for: ByteString("\(number)")) }
    for number in 0..<200 { _ = store.lookUp(ByteString("\(number)")) }
    failNextSync(process)
    store.catalog.journal.rollsNext.store(true, ordering: .relaxed)
    try store.flush()
    #expect(process.struck != nil)
    #expect(store.catalog.state.withLock { $0.journal.hasUnsynced })
    process.end()
    try expectPromiseOfNext()
    store.close()
  }

  @Test func `the sync of a program that closes the store fails`() throws {
    let (process, store) = try open()
    for number in 0..<200 { try store.put([0], for: ByteString("\(number)")) }
    for number in 0..<200 { _ = store.lookUp(ByteString("\(number)")) }
    failNextSync(process)
    store.close()
    #expect(process.struck != nil)
    process.end()
    try expectPromiseOfNext()
  }

  @Test(arguments: [SimulatedFault.Effect.endBefore, .endAfter])
  func `a program is killed when it has dropped the segment`(effect: SimulatedFault.Effect) throws {
    let (process, store) = try open()
    try store.put([0], for: "first")
    failNextSync(process)
    #expect(throws: StoreError.self) {
      try store.put(TestBody.make(9_000, seed: 1), for: "failed")
    }
    process.setFault(
      SimulatedFault(effect, at: 1) { $0.kind == .removeFile && $0.name.hasSuffix(".log") })
    _ = try? store.put([1], for: "next")
    #expect(process.hasEnded)
    try expectPromiseOfNext()
    store.close()
  }

  @Test func `what cannot be read is not overwritten`() throws {
    let (process, store) = try open()
    let (neighbour, other) = try open()
    try store.put([0], for: "first")
    let end = try #require(store.catalog.state.withLock { $0.journal.end })
    try other.put([1], for: "second")
    process.setFault(
      SimulatedFault(.fail(.inputOutput), at: 1, lasts: true) {
        ($0.kind == .synchronize || $0.kind == .read) && $0.name.hasSuffix(".log")
      })
    #expect(throws: StoreError.self) {
      try store.catalog.writer.syncJournal(AppendedPlace(segment: end.segment, end: end.end + 1))
    }
    process.end()
    neighbour.end()
    let (_, next) = try open()
    #expect(next.statistics.journalDamages == 0)
    #expect(next.lookUp("second").entry?.body == [1])
    next.close()
    store.close()
    other.close()
  }
}
