import CacheSystem
import SimulatedFiles
import Testing

@testable import CacheStore

/// The end of the journal cannot be read, for a moment or for good.
@Suite struct UnreadJournalTests {
  private let volume = SimulatedVolume()

  private func open(_ process: SimulatedProcess) throws -> Store {
    var options = Options(settling: .within(seconds: 3_600), fileSystem: process)
    options.bootName = [1]
    return try Store(at: CrashScenario.path, options: options)
  }

  private func fault(lasts: Bool) -> SimulatedFault {
    SimulatedFault(.fail(.inputOutput), at: 1, lasts: lasts) {
      $0.kind == .read && $0.name == "00000001.log"
    }
  }

  @Test func `a record that could not be read once is not overwritten`() throws {
    let second = SimulatedProcess(on: volume)
    let stores = [try open(SimulatedProcess(on: volume)), try open(second)]
    try stores[0].put([1], for: "a")
    second.setFault(fault(lasts: false))
    // Not known to be at the end of the journal, it must not write there.
    do { try stores[1].put([2], for: "b") } catch { try stores[1].put([2], for: "b") }
    #expect(second.struck != nil)
    for store in stores {
      #expect(store.lookUp("a").entry?.body == [1])
      #expect(store.lookUp("b").entry?.body == [2])
      store.waitUntilIdle()
      #expect(store.statistics.isComplete && store.statistics.journalDamages == 0)
    }
    for store in stores { store.close() }
  }

  @Test func `a journal whose end stays unreadable goes on in a new segment`() throws {
    let second = SimulatedProcess(on: volume)
    let stores = [try open(SimulatedProcess(on: volume)), try open(second)]
    try stores[0].put([1], for: "a")
    second.setFault(fault(lasts: true))
    #expect(throws: StoreError.self) { try stores[1].put([2], for: "b") }
    stores[1].waitUntilIdle()
    try stores[1].put([3], for: "b")
    for store in stores {
      // A segment without a seal is left at each 64th look-up only.
      for _ in 0..<64 where store.lookUp("b").entry == nil {}
      #expect(store.lookUp("b").entry?.body == [3])
      store.waitUntilIdle()
      #expect(store.statistics.isComplete)
      store.close()
    }
    let reopened = try open(SimulatedProcess(on: volume))
    #expect(reopened.lookUp("b").entry?.body == [3])
    reopened.close()
  }

  @Test func `a record in place of a torn one is not cut off before it can be read`() throws {
    let (first, killed) = (SimulatedProcess(on: volume), SimulatedProcess(on: volume))
    let stores = [try open(first), try open(SimulatedProcess(on: volume))]
    let other = try open(killed)
    try stores[0].put([0], for: "0")
    killed.setFault(
      SimulatedFault(.endWithin, at: 1) { $0.kind == .write && $0.name == "00000001.log" })
    _ = try? other.put([1], for: "1")
    #expect(stores[0].lookUp("1").entry == nil)
    #expect(stores[0].catalog.state.withLock { $0.journal.tornBytes } > 0)
    try stores[1].put([2], for: "2")
    first.setFault(fault(lasts: true))
    #expect(throws: StoreError.self) { try stores[0].catalog.writer.cutTornTail() }
    first.setFault(nil)
    for store in stores {
      #expect(store.lookUp("2").entry?.body == [2])
      store.close()
    }
  }

  @Test func `a store whose journal cannot be read once when it is opened has everything`() throws {
    let first = SimulatedProcess(on: volume)
    try open(first).put([1], for: "a")
    first.setFault(SimulatedFault(.endBefore, at: 1))
    let store = try open(SimulatedProcess(on: volume, fault: fault(lasts: false)))
    #expect(store.lookUp("a").entry?.body == [1])
    store.close()
  }
}
